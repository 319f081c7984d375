/**
 * The limits on an account's projects, deployments and uploads, which are exact across processes.
 */
import { assert, describe, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { AccountName } from "@tollgate/core/effect"
import {
  BranchName,
  type Deployments,
  deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type Uploads
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  content,
  createUploadUrl,
  flushEventLoop,
  listDeployments,
  makeInterleaved,
  startDisconnectableProcess,
  startProcess
} from "../../core/test/processes.ts"
import { secret, stores } from "../../core/test/stores.ts"

const makeBranch = (projectName: string, branchName: string, accountName = "acme") => ({
  accountName: AccountName.make(accountName),
  projectName: ProjectName.make(projectName),
  branchName: BranchName.make(branchName)
})
type Branch = ReturnType<typeof makeBranch>

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const deploy = ({ uploads }: Process, branch: Branch, source: typeof content = content) =>
  Effect.flatMap(createUploadUrl(uploads, branch), (url) => uploads.receive(url, source))

const exceeds = (limit: string) => (exit: Exit.Exit<unknown, { readonly _tag: string; readonly message: string }>) =>
  Exit.isFailure(exit) && JSON.stringify(exit).includes(`"${limit}"`)

const removeFirst = ({ deployments }: Process, branch: Branch) =>
  Effect.gen(function* () {
    const { data } = yield* listDeployments(deployments, branch)
    yield* deployments.remove({ params: { deploymentName: data[0]?.name ?? "" } })
  })

const start = (store: StoreOperations, limits: object) =>
  startProcess(store, memoryTarget(), memorySourceStore(), { limits })

describe.each(stores)("limits, on %s", (_, layer) => {
  it.effect("are exact when two processes deploy concurrently", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const limits = { deploymentsPerAccount: 3, projectsPerAccount: 2, concurrentUploadsPerAccount: 20 }
      const processes = [yield* start(store, limits), yield* start(store, limits)]
      const attempts = Array.from({ length: 10 }, (_, index) => ({
        process: processes[index % 2] ?? assert.fail(),
        branch: makeBranch(`p${index % 3}`, `b${index}`)
      }))
      const exits = yield* Effect.forEach(attempts, ({ process, branch }) => Effect.exit(deploy(process, branch)), {
        concurrency: 10
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 3)
      const failures = exits.filter(Exit.isFailure)
      assert.isTrue(
        failures.every((exit) => exceeds("deploymentsPerAccount")(exit) || exceeds("projectsPerAccount")(exit))
      )
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})

describe("deploymentsPerAccount", () => {
  it.effect("counts deployments, but neither further versions, removed deployments nor failed uploads", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { deploymentsPerAccount: 2 })
      yield* deploy(process, makeBranch("web", "one"))
      const broken = Stream.fail("disconnected")
      yield* Effect.flip(deploy(process, makeBranch("web", "broken"), broken as never))
      yield* deploy(process, makeBranch("web", "two"))
      yield* deploy(process, makeBranch("web", "two"))
      const error = yield* Effect.flip(deploy(process, makeBranch("web", "three")))
      assert.deepInclude(error, { _tag: "LimitReached", limit: "deploymentsPerAccount", max: 2 })
      yield* deploy(process, makeBranch("web", "three", "other"))
      yield* removeFirst(process, makeBranch("web", "one"))
      yield* deploy(process, makeBranch("web", "three"))
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("web", "one"))))._tag, "LimitReached")
    }).pipe(Effect.scoped)
  )

  it.effect("holds when a deployment is removed during an upload of its next version", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { deploymentsPerAccount: 1 })
      const one = makeBranch("web", "one")
      yield* deploy(process, one)
      const [started, resume] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const blocked = Stream.fromEffect(
        Effect.andThen(Deferred.succeed(started, undefined), Effect.as(Deferred.await(resume), new Uint8Array(5)))
      )
      const sending = yield* Effect.forkChild(deploy(process, one, blocked))
      yield* Deferred.await(started)
      yield* removeFirst(process, one)
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("web", "two"))))._tag, "LimitReached")
      yield* Deferred.succeed(resume, undefined)
      yield* Fiber.join(sending)
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("web", "two"))))._tag, "LimitReached")
      yield* removeFirst(process, one)
      yield* deploy(process, makeBranch("web", "two"))
    }).pipe(Effect.scoped)
  )

  it.effect.each(["removal", "upload"])(
    "holds for any interleaving of upload and removal (outer operation: %s)",
    (outer) =>
      Effect.gen(function* () {
        const one = makeBranch("web", "one")
        for (let call = 1, isOver = false; !isOver; call++) {
          const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
          const process = yield* start(store, { deploymentsPerAccount: 1 })
          yield* deploy(process, one)
          const { data } = yield* listDeployments(process.deployments, one)
          const url = yield* createUploadUrl(process.uploads, one)
          const removal = Effect.ignore(process.deployments.remove({ params: { deploymentName: data[0]?.name ?? "" } }))
          const upload = Effect.orDie(process.uploads.receive(url, content))
          const { interleave, ended } = yield* makeInterleaved(outer === "removal" ? upload : removal)
          injectAt(call, { interleave })
          yield* outer === "removal" ? removal : upload
          isOver = calls() < call
          injectAt(0, "fail")
          if (!isOver) yield* ended
          yield* flushEventLoop
          const { total } = yield* listDeployments(process.deployments, one)
          const next = yield* Effect.exit(deploy(process, makeBranch("web", "two")))
          assert.strictEqual(Exit.isFailure(next), total === 1, `before call ${call}`)
          yield* process.stop
        }
      }).pipe(Effect.scoped)
  )

  it.effect("does not count a deployment whose process died during the first upload", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const dying = yield* startDisconnectableProcess(store, memoryTarget(), memorySourceStore())
      const process = yield* start(store, { deploymentsPerAccount: 1 })
      yield* Effect.forkChild(deploy(dying, makeBranch("web", "one"), Stream.never))
      yield* flushEventLoop
      dying.disconnect()
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("web", "two"))))._tag, "LimitReached")
      yield* TestClock.adjust("31 seconds")
      yield* deploy(process, makeBranch("web", "two"))
    }).pipe(Effect.scoped)
  )
})

describe("projectsPerAccount", () => {
  it.effect("counts projects that have a deployment", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { projectsPerAccount: 1 })
      yield* deploy(process, makeBranch("web", "one"))
      yield* deploy(process, makeBranch("web", "two"))
      const error = yield* Effect.flip(deploy(process, makeBranch("docs", "one")))
      assert.deepInclude(error, { _tag: "LimitReached", limit: "projectsPerAccount", max: 1 })
      yield* removeFirst(process, makeBranch("web", "one"))
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("docs", "one"))))._tag, "LimitReached")
      yield* removeFirst(process, makeBranch("web", "two"))
      yield* deploy(process, makeBranch("docs", "one"))
    }).pipe(Effect.scoped)
  )

  it("is reported over HTTP with the name and value of the limit", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      publicUrl: "http://gate",
      limits: { projectsPerAccount: 1 },
      modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
    })
    const put = async (projectName: string) => {
      const { uploadUrl } = await gate
        .account("acme")
        .project(projectName)
        .deployments.createSource({ branchName: "b" })
      return gate.handler(new Request(uploadUrl, { method: "PUT", body: "a source" }))
    }
    assert.strictEqual((await put("one")).status, 200)
    const response = await put("two")
    assert.strictEqual(response.status, 409)
    assert.deepInclude(await response.json(), {
      type: "urn:tollgate:problem:limit-reached",
      limit: "projectsPerAccount",
      max: 1,
      detail: "An account may have at most 1 projects. Remove one first or raise limits.projectsPerAccount."
    })
    await gate.close()
  })
})

describe("openUploadsPerAccount", () => {
  it.effect("counts upload URLs that are neither used nor expired", () =>
    Effect.gen(function* () {
      const process = yield* start(MemoryStore.open(), { openUploadsPerAccount: 2 })
      const branch = makeBranch("web", "main")
      const create = createUploadUrl(process.uploads, branch)
      const url = yield* create
      yield* create
      const error = yield* Effect.flip(create)
      assert.deepInclude(error, { _tag: "LimitReached", limit: "openUploadsPerAccount", max: 2 })
      yield* createUploadUrl(process.uploads, makeBranch("web", "main", "other"))
      yield* process.uploads.receive(url, content)
      yield* create
      assert.strictEqual((yield* Effect.flip(create))._tag, "LimitReached")
      yield* TestClock.adjust("61 minutes")
      yield* create
      yield* create
      assert.strictEqual((yield* Effect.flip(create))._tag, "LimitReached")
    }).pipe(Effect.scoped)
  )
})

describe("concurrentUploadsPerAccount", () => {
  it.effect("counts uploads in progress across processes, except those of a process that died", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const dying = yield* startDisconnectableProcess(store, memoryTarget(), memorySourceStore())
      const process = yield* start(store, { concurrentUploadsPerAccount: 2 })
      yield* Effect.forkChild(deploy(dying, makeBranch("web", "dying"), Stream.never))
      const sending = yield* Effect.forkChild(deploy(process, makeBranch("web", "one"), Stream.never))
      yield* flushEventLoop
      const error = yield* Effect.flip(deploy(process, makeBranch("web", "two")))
      assert.deepInclude(error, { _tag: "LimitReached", limit: "concurrentUploadsPerAccount", max: 2 })
      yield* deploy(process, makeBranch("web", "two", "other"))
      yield* Fiber.interrupt(sending)
      yield* deploy(process, makeBranch("web", "two"))
      const more = ["three", "four"].map((name) => deploy(process, makeBranch("web", name), Stream.never))
      yield* Effect.forEach(more, (upload) => Effect.forkChild(Effect.flip(upload)))
      yield* flushEventLoop
      dying.disconnect()
      assert.strictEqual((yield* Effect.flip(deploy(process, makeBranch("web", "five"))))._tag, "LimitReached")
      yield* TestClock.adjust("61 seconds")
      yield* flushEventLoop
      yield* deploy(process, makeBranch("web", "five"))
    }).pipe(Effect.scoped)
  )
})
