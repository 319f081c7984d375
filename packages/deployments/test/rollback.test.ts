/**
 * Which version a deployment serves: each row of the table in `servedVersion.ts`, what is kept, and two processes that
 * change it at once.
 */
import { assert, describe, it } from "@effect/vitest"
import { type DeploymentTarget, memorySourceStore, StepFailed } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Deferred, Effect, Exit, Fiber, type Scope, Stream } from "effect"
import {
  createUploadUrl,
  eventually,
  getStatus,
  listDeployments,
  makeInterleaved,
  project,
  startProcess
} from "../../core/test/processes.ts"
import { stores } from "../../core/test/stores.ts"

type Process = Effect.Success<ReturnType<typeof startProcess>>

/** A target that knows which releases it has. A source with the text `bad` fails its check. */
const makeTarget = (isDone: () => Effect.Effect<void> = () => Effect.void) => {
  const releases = new Set<string>()
  const target: DeploymentTarget = {
    check: ({ source }) =>
      Stream.runCollect(Stream.decodeText(source)).pipe(
        Effect.orDie,
        Effect.flatMap((texts) =>
          texts.join("") === "bad" ? Effect.fail(new StepFailed({ problem: "it is bad" })) : Effect.void
        )
      ),
    publish: ({ id }) =>
      Effect.andThen(
        isDone(),
        Effect.sync(() => void releases.add(id))
      ),
    discard: (id) => Effect.sync(() => void releases.delete(id)),
    serve: (id) => Effect.sync(() => (releases.has(id) ? new Response(id) : undefined))
  }
  return { target, releases }
}

const start = (store: StoreOperations, { target } = makeTarget(), sources = memorySourceStore()) =>
  startProcess(store, target, sources)

const send = ({ uploads }: Process, text = "good") =>
  Effect.flatMap(createUploadUrl(uploads), (url) =>
    Effect.map(uploads.receive(url, Stream.succeed(new TextEncoder().encode(text))), ({ id }) => id)
  )

const waitForEnd = ({ deployments }: Process, id: string) =>
  Effect.map(
    eventually(getStatus(deployments, id), ({ value }) => value.status !== "IN_PROGRESS"),
    ({ value }) => value
  )

/** Uploads a source, waits for the end of its run, and returns the id of the version. */
const deploy = (process: Process, text?: string) => Effect.tap(send(process, text), (id) => waitForEnd(process, id))

const getDeployment = ({ deployments }: Process) =>
  Effect.map(listDeployments(deployments), ({ data: [deployment] }) => deployment ?? assert.fail("no deployment"))

const getName = (process: Process) => Effect.map(getDeployment(process), ({ name }) => name)

const rollback = ({ deployments }: Process, deploymentName: string, version: string) =>
  deployments.rollback({ params: { deploymentName }, payload: { version: version as never } })

const promote = ({ deployments }: Process, deploymentName: string, version?: string) =>
  deployments.promote({
    params: { deploymentName },
    payload: version === undefined ? {} : { version: version as never }
  })

const listVersions = ({ deployments }: Process, deploymentName: string) =>
  Effect.map(deployments.versions({ params: { deploymentName }, query: { limit: 100, offset: 0 } }), ({ data }) => data)

/** The version that is served, and whether the deployment is pinned to it. */
const getServed = (process: Process) =>
  Effect.gen(function* () {
    const { name, isPinned = false } = yield* getDeployment(process)
    const release = yield* process.deployments.getServedRelease(name)
    return { id: release.split(".")[1], isPinned }
  })

const getTag = (exit: Effect.Effect<unknown, { readonly _tag: string }>) => Effect.map(Effect.flip(exit), (e) => e._tag)

describe.each(stores)("a deployment, on %s", (_, layer) => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Store | Scope.Scope>) =>
    it.effect(title, () => body.pipe(Effect.provide(layer), Effect.scoped))

  test(
    "that is rolled back serves an earlier version at once, and uploads wait until one is promoted",
    Effect.gen(function* () {
      const made = makeTarget()
      const process = yield* start(yield* Store, made)
      const [first, second] = [yield* deploy(process), yield* deploy(process)]
      const name = yield* getName(process)
      assert.deepStrictEqual(yield* getServed(process), { id: second, isPinned: false })

      assert.deepInclude(yield* rollback(process, name, first), { name, isPinned: true, state: "STARTED" })
      assert.deepStrictEqual(yield* getServed(process), { id: first, isPinned: true })

      const third = yield* send(process)
      const status = yield* waitForEnd(process, third)
      assert.strictEqual(status.status, "SUCCESS")
      assert.deepStrictEqual(status.steps.publish, { status: "skipped", message: "waits for promote" })
      assert.match(status.url, /^http:\/\/gate\/sites\/v-[a-z2-7]{20}\/$/)
      assert.deepStrictEqual(yield* getServed(process), { id: first, isPinned: true })
      const address = new URL(status.url).pathname.split("/")[2] ?? ""
      assert.include(yield* process.deployments.getServedRelease(address), third)

      // A failed run and another run of the latest source change neither.
      yield* deploy(process, "bad")
      assert.deepInclude(yield* getDeployment(process), { message: "check-failed", isPinned: true })
      assert.deepStrictEqual(yield* getServed(process), { id: first, isPinned: true })

      assert.notProperty(yield* promote(process, name), "isPinned")
      assert.deepStrictEqual(yield* getServed(process), { id: third, isPinned: false })
      const promoted = (yield* getStatus(process.deployments, third)).value
      assert.strictEqual(promoted.steps.publish.status, "done")
      assert.strictEqual(promoted.url, (yield* getDeployment(process)).url)
      const fifth = yield* deploy(process)
      assert.deepStrictEqual(yield* getServed(process), { id: fifth, isPinned: false })
      const listed = yield* listVersions(process, name)
      assert.deepStrictEqual(
        listed.map(({ isServed, isKept = false }) => [isServed, isKept]),
        [
          [true, true],
          [false, false],
          [false, true],
          [false, true],
          [false, true]
        ]
      )
      assert.strictEqual(new Set(listed.flatMap(({ url }) => url ?? [])).size, 4)
      assert.strictEqual(made.releases.size, 4)
    })
  )

  test(
    "that does not change records no event, and keeps its record",
    Effect.gen(function* () {
      const process = yield* start(yield* Store)
      const [first, second] = [yield* deploy(process), yield* deploy(process)]
      const name = yield* getName(process)
      const read = process.deployments.get({ params: { deploymentName: name } })
      const before = yield* read
      yield* rollback(process, name, second)
      yield* promote(process, name)
      yield* promote(process, name, second)
      assert.deepStrictEqual(yield* read, before)
      yield* rollback(process, name, first)
      const pinned = yield* read
      assert.notStrictEqual(pinned.version, before.version)
      yield* rollback(process, name, first)
      assert.deepStrictEqual(yield* read, pinned)
      // The served version may be promoted, which unpins.
      yield* promote(process, name, first)
      assert.deepStrictEqual(yield* getServed(process), { id: first, isPinned: false })
    })
  )

  test(
    "refuses versions that are not kept",
    Effect.gen(function* () {
      const process = yield* start(yield* Store)
      const failed = yield* deploy(process, "bad")
      const name = yield* getName(process)
      assert.strictEqual(yield* getTag(promote(process, name)), "ReleaseNotKept")
      assert.strictEqual(yield* getTag(rollback(process, name, failed)), "ReleaseNotKept")
      yield* deploy(process)
      const other = { ...project, branchName: "other" as never }
      const url = yield* createUploadUrl(process.uploads, other)
      yield* process.uploads.receive(url, Stream.succeed(new Uint8Array(3)))
      yield* waitForEnd(process, url.id)
      const unknown = "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690"
      for (const version of [failed, url.id, unknown]) {
        assert.strictEqual(yield* getTag(rollback(process, name, version)), "ReleaseNotKept")
        assert.strictEqual(yield* getTag(promote(process, name, version)), "ReleaseNotKept")
      }
      assert.strictEqual(yield* getTag(rollback(process, "web-nothing-aaaaaaaaaaaa", unknown)), "DeploymentNotFound")
    })
  )

  test(
    "keeps ten versions that passed their check, however many failed, and the one that is served",
    Effect.gen(function* () {
      const made = makeTarget()
      const process = yield* start(yield* Store, made)
      const pinnedTo = yield* deploy(process)
      const name = yield* getName(process)
      const lost = yield* deploy(process)
      yield* rollback(process, name, pinnedTo)
      const good: Array<string> = []
      for (let index = 0; index < 10; index++) good.push(yield* deploy(process))
      for (let index = 0; index < 11; index++) yield* deploy(process, "bad")
      assert.strictEqual(yield* getTag(rollback(process, name, lost)), "ReleaseNotKept")
      const kept = [...good.toReversed(), pinnedTo]
      const readKept = Effect.map(listVersions(process, name), (all) => all.flatMap((v) => (v.isKept ? [v.id] : [])))
      assert.deepStrictEqual(yield* readKept, kept)
      yield* eventually(Effect.succeed(made.releases), ({ size }) => size === 11)
      // Ten that failed, and the kept ones.
      yield* eventually(listVersions(process, name), ({ length }) => length === 21)

      // The oldest of the ten can be served; what was served is then the eleventh, and not kept.
      yield* promote(process, name, good[0])
      yield* eventually(Effect.succeed(made.releases), ({ size }) => size === 10)
      assert.strictEqual(yield* getTag(rollback(process, name, pinnedTo)), "ReleaseNotKept")
      assert.deepStrictEqual(yield* getServed(process), { id: good[0], isPinned: false })
      yield* process.deployments.remove({ params: { deploymentName: name } })
      assert.strictEqual(made.releases.size, 0)
    })
  )

  test(
    "that is pinned to its latest version serves the pinned release, while the source runs again",
    Effect.gen(function* () {
      const made = makeTarget()
      const process = yield* start(yield* Store, made)
      const [first, second] = [yield* deploy(process), yield* deploy(process)]
      const name = yield* getName(process)
      yield* rollback(process, name, first)
      yield* rollback(process, name, second)
      const before = yield* process.deployments.getServedRelease(name)
      const readAddress = Effect.map(listVersions(process, name), ([version]) => version?.url?.split("/").at(-2) ?? "")
      const address = yield* readAddress
      yield* process.deployments.deploy({ params: { deploymentName: name } })
      yield* waitForEnd(process, second)
      assert.strictEqual(yield* process.deployments.getServedRelease(name), before)
      // An address leads to one release: what runs again gets another one.
      const nextAddress = yield* readAddress
      assert.notStrictEqual(nextAddress, address)
      assert.strictEqual(yield* process.deployments.getServedRelease(address), before)
      yield* promote(process, name)
      const promoted = yield* process.deployments.getServedRelease(name)
      assert.match(promoted, new RegExp(`${second}\\.2$`))
      assert.strictEqual(yield* process.deployments.getServedRelease(nextAddress), promoted)
      assert.strictEqual(yield* getTag(process.deployments.getServedRelease(address)), "DeploymentNotFound")
      // The release of the first attempt is not kept any more.
      yield* eventually(Effect.succeed(made.releases), ({ size }) => size === 2)
    })
  )

  test(
    "is rolled back by one process while another publishes, and each change is the whole",
    Effect.gen(function* () {
      const store = yield* Store
      const [made, sources] = [makeTarget(), memorySourceStore()]
      const [one, other] = [yield* start(store, made, sources), yield* start(store, made, sources)]
      const first = yield* deploy(one)
      const name = yield* getName(one)
      for (let round = 0; round < 8; round++) {
        const [process, second] = round % 2 === 0 ? [one, other] : [other, one]
        const id = yield* send(process)
        const [rolledBack] = yield* Effect.all(
          [
            Effect.exit(rollback(second, name, first)),
            waitForEnd(process, id),
            Effect.exit(promote(process, name, first))
          ],
          { concurrency: 3 }
        )
        assert.isTrue(Exit.isSuccess(rolledBack))
        const served = yield* getServed(one)
        const waits = (yield* getStatus(one.deployments, id)).value.steps.publish.status === "skipped"
        // The new version either waits, and another is served, or has been published: then the rollback may have followed.
        if (waits) assert.strictEqual(served.id, first)
        else assert.include([first, id], served.id)
        assert.isTrue(made.releases.has(yield* one.deployments.getServedRelease(name)))
        yield* promote(second, name)
        assert.deepStrictEqual(yield* getServed(process), { id, isPinned: false })
        yield* rollback(second, name, first)
        yield* promote(second, name, first)
      }
    })
  )
})

describe("a target that cannot serve a release any more", () => {
  it.effect.each([
    ["has lost it", Effect.succeed(false), "ReleaseNotKept"],
    ["cannot say whether it has it", Effect.fail("no disk"), "defect"],
    ["does not answer", Effect.never, "defect"]
  ] as const)("and %s is not asked to, and nothing changes", ([, has, reason]) =>
    Effect.gen(function* () {
      const { target, releases } = makeTarget()
      const process = yield* start(MemoryStore.open(), { target: { ...target, has: () => has }, releases })
      const [first, second] = [yield* deploy(process), yield* deploy(process)]
      const name = yield* getName(process)
      const read = process.deployments.get({ params: { deploymentName: name } })
      const before = yield* read
      for (const operation of [rollback, promote]) {
        const running = yield* Effect.forkChild(
          Effect.catchDefect(getTag(operation(process, name, first)), () => Effect.succeed("defect"))
        )
        yield* eventually(
          Effect.sync(() => running.pollUnsafe()),
          (exit) => exit !== undefined
        )
        assert.strictEqual(yield* Fiber.join(running), reason)
        assert.deepStrictEqual(yield* read, before)
        assert.deepStrictEqual(yield* getServed(process), { id: second, isPinned: false })
      }
    }).pipe(Effect.scoped)
  )
})

describe("a rollback, for any interleaving of store calls", () => {
  it.effect("beside the end of a run serves the version that was asked for, or what was published after it", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const gate = yield* Deferred.make<void>()
        let isHeld = false
        const made = makeTarget(() => (isHeld ? Deferred.await(gate) : Effect.void))
        const process = yield* start(store, made)
        const [first, second] = [yield* deploy(process), yield* deploy(process)]
        const name = yield* getName(process)
        isHeld = true
        const third = yield* send(process)
        yield* eventually(
          getStatus(process.deployments, third),
          ({ value }) => value.steps.publish.status === "running"
        )
        const finish = Effect.orDie(Effect.andThen(Deferred.succeed(gate, undefined), waitForEnd(process, third)))
        const { interleave, ended } = yield* makeInterleaved(finish)
        injectAt(call, { interleave })
        yield* rollback(process, name, first)
        isOver = calls() < call
        injectAt(0, "fail")
        yield* isOver ? interleave : ended
        const { steps } = yield* waitForEnd(process, third)
        const served = yield* getServed(process)
        assert.deepStrictEqual(served, { id: first, isPinned: true }, `after call ${call}`)
        assert.include(["done", "skipped"], steps.publish.status)
        // All three are kept, and can be served.
        yield* promote(process, name, second)
        yield* promote(process, name)
        assert.deepStrictEqual(yield* getServed(process), { id: third, isPinned: false })
        assert.strictEqual(made.releases.size, 3)
        yield* process.stop
      }
    }).pipe(Effect.scoped)
  )

  it.effect("beside another rollback leaves one of both", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const made = makeTarget()
        const process = yield* start(store, made)
        const [first, second] = [yield* deploy(process), yield* deploy(process)]
        yield* deploy(process)
        const name = yield* getName(process)
        const { interleave, ended } = yield* makeInterleaved(Effect.orDie(rollback(process, name, second)))
        injectAt(call, { interleave })
        yield* rollback(process, name, first)
        isOver = calls() < call
        injectAt(0, "fail")
        yield* isOver ? interleave : ended
        const served = yield* getServed(process)
        assert.isTrue(served.isPinned)
        assert.include([first, second], served.id)
        assert.strictEqual(made.releases.size, 3)
        yield* process.stop
      }
    }).pipe(Effect.scoped)
  )
})

describe("a target that does not keep releases", () => {
  it.effect("serves the latest version, and cannot be rolled back", () =>
    Effect.gen(function* () {
      const { target, releases } = makeTarget()
      const process = yield* start(MemoryStore.open(), { target: { ...target, keepsReleases: false }, releases })
      const [first, second] = [yield* deploy(process), yield* deploy(process)]
      const name = yield* getName(process)
      yield* eventually(Effect.succeed(releases), ({ size }) => size === 1)
      assert.strictEqual(yield* getTag(rollback(process, name, first)), "ReleaseNotKept")
      assert.notProperty(yield* rollback(process, name, second), "isPinned")
      assert.isTrue((yield* listVersions(process, name)).every(({ isKept, url }) => !isKept && url === undefined))
    }).pipe(Effect.scoped)
  )
})

describe("the address of a version", () => {
  it.effect("serves nothing before the version is kept, and is removed if it never is", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const recorded: Array<string> = []
      const watched: StoreOperations = {
        ...store,
        commit: (partition, changes) => {
          recorded.push(...(JSON.stringify(changes).match(/(?<=version-address\/)v-[a-z2-7]{20}/g) ?? []))
          return store.commit(partition, changes)
        }
      }
      const gate = yield* Deferred.make<void>()
      const made = makeTarget()
      // The address is recorded, and the release is measured before it is kept.
      const measure = (ids: ReadonlyArray<string>) =>
        Effect.as(
          Deferred.await(gate),
          ids.map(() => 1)
        )
      const process = yield* start(watched, { ...made, target: { ...made.target, measure } })
      const first = yield* send(process)
      yield* eventually(Effect.succeed(recorded), ({ length }) => length > 0)
      const [address = ""] = recorded
      assert.strictEqual(yield* getTag(process.deployments.getServedRelease(address)), "DeploymentNotFound")
      // A later upload ends the run.
      const second = yield* send(process)
      yield* Deferred.succeed(gate, undefined)
      yield* waitForEnd(process, second)
      assert.strictEqual((yield* waitForEnd(process, first)).status, "ERROR")
      assert.strictEqual(yield* getTag(process.deployments.getServedRelease(address)), "DeploymentNotFound")
      const last = recorded.filter((other) => other !== address).at(-1) ?? ""
      assert.include(yield* process.deployments.getServedRelease(last), second)
      // It is removed together with what the run has left.
      yield* eventually(
        Effect.sync(() => recorded.filter((other) => other === address).length),
        (commits) => commits === 2
      )
    }).pipe(Effect.scoped)
  )
})
