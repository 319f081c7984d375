/**
 * How many projects, deployments and uploads an account may have: exactly, over several processes.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  BranchName,
  createTollgate,
  type Deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  Store,
  type StoreOperations,
  type Uploads
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { addressOf, content, mortal, settled, startProcess } from "./processes.ts"
import { secret, stores } from "./stores.ts"

const branchOf = (projectName: string, branchName: string, accountName = "acme") => ({
  accountName: AccountName.make(accountName),
  projectName: ProjectName.make(projectName),
  branchName: BranchName.make(branchName)
})
type Branch = ReturnType<typeof branchOf>

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const deploy = ({ uploads }: Process, branch: Branch, source: typeof content = content) =>
  Effect.flatMap(uploads.create(branch), ({ uploadUrl }) => uploads.receive(addressOf(uploadUrl), source))

const isLimit = (limit: string) => (exit: Exit.Exit<unknown, { readonly _tag: string; readonly message: string }>) =>
  Exit.isFailure(exit) && JSON.stringify(exit).includes(`"${limit}"`)

const removeFirst = ({ deployments }: Process, of: Branch) =>
  Effect.gen(function* () {
    const { data } = yield* deployments.list(of, { limit: 1, offset: 0 })
    yield* deployments.remove(data[0]?.name ?? "")
  })

const start = (store: StoreOperations, limits: object) =>
  startProcess(store, memoryTarget(), memorySourceStore(), { limits })

describe.each(stores)("limits, on %s", (_, layer) => {
  it.effect(
    "are exact when two processes deploy at the same time",
    () =>
      Effect.gen(function* () {
        const store = yield* Store
        const limits = { deploymentsPerAccount: 3, projectsPerAccount: 2, concurrentUploadsPerAccount: 20 }
        const processes = [yield* start(store, limits), yield* start(store, limits)]
        const tried = Array.from({ length: 10 }, (_, index) => ({
          process: processes[index % 2] ?? assert.fail(),
          branch: branchOf(`p${index % 3}`, `b${index}`)
        }))
        const exits = yield* Effect.forEach(tried, ({ process, branch }) => Effect.exit(deploy(process, branch)), {
          concurrency: 10
        })
        assert.strictEqual(exits.filter(Exit.isSuccess).length, 3)
        const refused = exits.filter(Exit.isFailure)
        assert.isTrue(
          refused.every((exit) => isLimit("deploymentsPerAccount")(exit) || isLimit("projectsPerAccount")(exit))
        )
      }).pipe(Effect.provide(layer), Effect.scoped),
    30_000
  )
})

describe("deploymentsPerAccount", () => {
  it.effect("counts deployments: a removal frees a place, a next version needs none, a failed upload keeps none", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { deploymentsPerAccount: 2 })
      yield* deploy(process, branchOf("web", "one"))
      const broken = Stream.fail("cut off")
      yield* Effect.flip(deploy(process, branchOf("web", "broken"), broken as never))
      yield* deploy(process, branchOf("web", "two"))
      yield* deploy(process, branchOf("web", "two"))
      const refused = yield* Effect.flip(deploy(process, branchOf("web", "three")))
      assert.deepInclude(refused, { _tag: "LimitReached", limit: "deploymentsPerAccount", max: 2 })
      yield* deploy(process, branchOf("web", "three", "other"))
      yield* removeFirst(process, branchOf("web", "one"))
      yield* deploy(process, branchOf("web", "three"))
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("web", "one"))))._tag, "LimitReached")
    }).pipe(Effect.scoped)
  )

  it.effect("holds when a deployment is removed while a next version of it arrives", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { deploymentsPerAccount: 1 })
      const one = branchOf("web", "one")
      yield* deploy(process, one)
      const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const held = Stream.fromEffect(
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.as(Deferred.await(go), new Uint8Array(5)))
      )
      const sending = yield* Effect.forkChild(deploy(process, one, held))
      yield* Deferred.await(begun)
      yield* removeFirst(process, one)
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("web", "two"))))._tag, "LimitReached")
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(sending)
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("web", "two"))))._tag, "LimitReached")
      yield* removeFirst(process, one)
      yield* deploy(process, branchOf("web", "two"))
    }).pipe(Effect.scoped)
  )

  it.effect.each(["removal", "upload"])("holds whatever happens during any store call of a %s", (outer) =>
    Effect.gen(function* () {
      const one = branchOf("web", "one")
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const process = yield* start(store, { deploymentsPerAccount: 1 })
        yield* deploy(process, one)
        const { data } = yield* process.deployments.list(one, { limit: 1, offset: 0 })
        const { uploadUrl } = yield* process.uploads.create(one)
        const removal = Effect.ignore(process.deployments.remove(data[0]?.name ?? ""))
        const upload = Effect.orDie(process.uploads.receive(addressOf(uploadUrl), content))
        injectAt(call, { interleave: outer === "removal" ? upload : removal })
        yield* outer === "removal" ? removal : upload
        isOver = calls() < call
        injectAt(0, "fail")
        yield* settled
        const { total } = yield* process.deployments.list(one, { limit: 1, offset: 0 })
        const next = yield* Effect.exit(deploy(process, branchOf("web", "two")))
        assert.strictEqual(Exit.isFailure(next), total === 1, `before call ${call}`)
        yield* process.stop
      }
    }).pipe(Effect.scoped)
  )

  it.effect("gets the place back of a deployment that never came to be, because its process died", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const dying = yield* mortal(store, memoryTarget(), memorySourceStore())
      const process = yield* start(store, { deploymentsPerAccount: 1 })
      yield* Effect.forkChild(deploy(dying, branchOf("web", "one"), Stream.never))
      yield* settled
      dying.die()
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("web", "two"))))._tag, "LimitReached")
      yield* TestClock.adjust("31 seconds")
      yield* deploy(process, branchOf("web", "two"))
    }).pipe(Effect.scoped)
  )
})

describe("projectsPerAccount", () => {
  it.effect("counts projects that have a deployment", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { projectsPerAccount: 1 })
      yield* deploy(process, branchOf("web", "one"))
      yield* deploy(process, branchOf("web", "two"))
      const refused = yield* Effect.flip(deploy(process, branchOf("docs", "one")))
      assert.deepInclude(refused, { _tag: "LimitReached", limit: "projectsPerAccount", max: 1 })
      yield* removeFirst(process, branchOf("web", "one"))
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("docs", "one"))))._tag, "LimitReached")
      yield* removeFirst(process, branchOf("web", "two"))
      yield* deploy(process, branchOf("docs", "one"))
    }).pipe(Effect.scoped)
  )

  it("is told over HTTP, with the limit's name and value", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      publicUrl: "http://gate",
      limits: { projectsPerAccount: 1 },
      deployments: { sources: memorySourceStore(), target: memoryTarget() }
    })
    const put = async (projectName: string) => {
      const { uploadUrl } = await gate.deployments.createSource({ accountName: "acme", projectName, branchName: "b" })
      return gate.handler(new Request(uploadUrl, { method: "PUT", body: "a source" }))
    }
    assert.strictEqual((await put("one")).status, 200)
    const refused = await put("two")
    assert.strictEqual(refused.status, 409)
    assert.deepInclude(await refused.json(), {
      type: "urn:tollgate:problem:limit-reached",
      limit: "projectsPerAccount",
      max: 1,
      detail: "An account may have at most 1 projects. Remove one first or raise limits.projectsPerAccount."
    })
    await gate.close()
  })
})

describe("openUploadsPerAccount", () => {
  it.effect("counts addresses that are neither used nor expired", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { openUploadsPerAccount: 2 })
      const branch = branchOf("web", "main")
      const { uploadUrl } = yield* process.uploads.create(branch)
      yield* process.uploads.create(branch)
      const refused = yield* Effect.flip(process.uploads.create(branch))
      assert.deepInclude(refused, { _tag: "LimitReached", limit: "openUploadsPerAccount", max: 2 })
      yield* process.uploads.create(branchOf("web", "main", "other"))
      yield* process.uploads.receive(addressOf(uploadUrl), content)
      yield* process.uploads.create(branch)
      assert.strictEqual((yield* Effect.flip(process.uploads.create(branch)))._tag, "LimitReached")
      yield* TestClock.adjust("61 minutes")
      yield* process.uploads.create(branch)
      yield* process.uploads.create(branch)
      assert.strictEqual((yield* Effect.flip(process.uploads.create(branch)))._tag, "LimitReached")
    }).pipe(Effect.scoped)
  )
})

describe("concurrentUploadsPerAccount", () => {
  it.effect("counts uploads that are being received, in all processes, and none of a process that died", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const dying = yield* mortal(store, memoryTarget(), memorySourceStore())
      const process = yield* start(store, { concurrentUploadsPerAccount: 2 })
      yield* Effect.forkChild(deploy(dying, branchOf("web", "dying"), Stream.never))
      const sending = yield* Effect.forkChild(deploy(process, branchOf("web", "one"), Stream.never))
      yield* settled
      const refused = yield* Effect.flip(deploy(process, branchOf("web", "two")))
      assert.deepInclude(refused, { _tag: "LimitReached", limit: "concurrentUploadsPerAccount", max: 2 })
      yield* deploy(process, branchOf("web", "two", "other"))
      yield* Fiber.interrupt(sending)
      yield* deploy(process, branchOf("web", "two"))
      const more = ["three", "four"].map((name) => deploy(process, branchOf("web", name), Stream.never))
      yield* Effect.forEach(more, (upload) => Effect.forkChild(Effect.flip(upload)))
      yield* settled
      dying.die()
      assert.strictEqual((yield* Effect.flip(deploy(process, branchOf("web", "five"))))._tag, "LimitReached")
      yield* TestClock.adjust("61 seconds")
      yield* settled
      yield* deploy(process, branchOf("web", "five"))
    }).pipe(Effect.scoped)
  )
})
