/**
 * The states of deployment names. Whatever dies, fails or runs at the same time, the names that count towards the limits
 * are those of the deployments, and no name is left that no deployment has used.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName } from "@tollgate/core/effect"
import {
  BranchName,
  type Deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type Uploads
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { Clock, Effect, Exit, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  content,
  createUploadUrl,
  eventually,
  listDeployments,
  makeInterleaved,
  startDisconnectableProcess,
  startProcess,
  waitUntil
} from "../../core/test/processes.ts"
import { deploymentDirectory } from "../src/model/partitions.ts"

const makeBranch = (branchName: string) => ({
  accountName: AccountName.make("acme"),
  projectName: ProjectName.make("web"),
  branchName: BranchName.make(branchName)
})

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const deploy = ({ uploads }: Process, branchName: string) =>
  Effect.flatMap(createUploadUrl(uploads, makeBranch(branchName)), (url) => uploads.receive(url, content))

const removeAll = ({ deployments }: Process) =>
  Effect.flatMap(listDeployments(deployments), ({ data }) =>
    Effect.forEach(data, ({ name }) => Effect.ignore(deployments.remove({ params: { deploymentName: name } })))
  )

const start = (store: StoreOperations, limits: object) =>
  startProcess(store, memoryTarget(), memorySourceStore(), { limits })

/** The names, those that count, and what the projects count. */
const readCounts = (store: StoreOperations) =>
  Effect.gen(function* () {
    const [names, counted, projects] = yield* store.list(
      deploymentDirectory,
      ["name", "name/account:acme", "project"].map((term) => ({ indexTerms: [term], offset: 0, limit: 10 }))
    )
    const inProjects = (projects?.records ?? []).map(({ body }) => JSON.parse(body.slice(2)).deployments as number)
    return {
      names: names?.total ?? 0,
      counted: counted?.total ?? 0,
      inProjects: inProjects.reduce((sum, deployments) => sum + deployments, 0)
    }
  })

/**
 * Repeats a test for each store call of an operation of `process`, which the test passes to `disturb` or `kill`, once.
 * `disturb` runs an effect before the call, or afterwards if the operation makes fewer calls. `kill` ends the process there.
 */
const forEachCall = <E, R>(
  limits: object,
  test: (context: {
    readonly process: Process
    readonly other: Process
    readonly store: StoreOperations
    readonly disturb: <A, E>(operation: Effect.Effect<A, E>, effect: Effect.Effect<unknown>) => Effect.Effect<A, E>
    readonly kill: (operation: Effect.Effect<unknown, unknown>) => Effect.Effect<void>
    readonly label: string
  }) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    for (let call = 1, isOver = false; !isOver; call++) {
      const store = MemoryStore.open()
      const faulty = makeFaultyStore(store, isBackgroundCall)
      const [process, other] = [yield* start(faulty.store, limits), yield* start(store, limits)]
      yield* test({
        process,
        other,
        store,
        disturb: (operation, effect) =>
          Effect.gen(function* () {
            const { interleave, ended } = yield* makeInterleaved(effect)
            faulty.injectAt(call, { interleave })
            const result = yield* operation
            isOver = faulty.calls() < call
            faulty.injectAt(0, "fail")
            yield* isOver ? interleave : ended
            return result
          }),
        kill: (operation) =>
          Effect.gen(function* () {
            let isDead = false
            const die = Effect.suspend(() => {
              isDead = true
              return Effect.never
            })
            faulty.injectAt(call, { interleave: die })
            const fiber = yield* Effect.forkDetach(operation)
            yield* waitUntil(() => isDead || fiber.pollUnsafe() !== undefined)
            isOver = !isDead
            faulty.injectAt(0, "fail")
            yield* process.stop
          }),
        label: `before call ${call}`
      })
      yield* process.stop
      yield* other.stop
    }
  }).pipe(Effect.scoped)

describe("names", () => {
  it.effect("are not reserved by an upload URL, which works after its process died", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const dying = yield* startDisconnectableProcess(store, memoryTarget(), memorySourceStore())
      const process = yield* start(store, { deploymentsPerAccount: 1 })
      const url = yield* createUploadUrl(dying.uploads, makeBranch("one"))
      dying.disconnect()
      yield* dying.stop
      assert.deepStrictEqual(yield* readCounts(store), { names: 0, counted: 0, inProjects: 0 })
      yield* deploy(process, "two")
      assert.strictEqual((yield* Effect.flip(process.uploads.receive(url, content)))._tag, "LimitReached")
      yield* removeAll(process)
      yield* process.uploads.receive(url, content)
      assert.deepStrictEqual(yield* readCounts(store), { names: 2, counted: 1, inProjects: 1 })
    }).pipe(Effect.scoped)
  )

  it.effect("are reserved once when two processes reserve the last one, for any interleaving", () =>
    forEachCall({ deploymentsPerAccount: 1 }, ({ process, other, store, disturb, label }) =>
      Effect.gen(function* () {
        const exits: Array<Exit.Exit<unknown, unknown>> = []
        const deployTwo = Effect.map(Effect.exit(deploy(other, "two")), (exit) => exits.push(exit))
        exits.push(yield* disturb(Effect.exit(deploy(process, "one")), deployTwo))
        assert.deepStrictEqual(exits.map(Exit.isSuccess).sort(), [false, true], label)
        assert.deepStrictEqual(yield* readCounts(store), { names: 1, counted: 1, inProjects: 1 }, label)
      })
    )
  )

  it.effect("count once when two processes upload to a branch, for any interleaving, and not after its removal", () =>
    forEachCall({ deploymentsPerAccount: 1 }, ({ process, other, store, disturb, label }) =>
      Effect.gen(function* () {
        yield* disturb(deploy(process, "one"), Effect.orDie(deploy(other, "one")))
        assert.deepStrictEqual(yield* readCounts(store), { names: 1, counted: 1, inProjects: 1 }, label)
        yield* removeAll(other)
        assert.deepStrictEqual(yield* readCounts(store), { names: 1, counted: 0, inProjects: 0 }, label)
      })
    )
  )

  it.effect.each(["removal", "upload"])(
    "are released, and kept for the branch, when an upload fails during a removal (outer operation: %s)",
    (outer) =>
      forEachCall({}, ({ process, other, store, disturb, label }) =>
        Effect.gen(function* () {
          yield* deploy(other, "one")
          const url = yield* createUploadUrl(other.uploads, makeBranch("one"))
          const failUpload = ({ uploads }: Process) => Effect.ignore(uploads.receive(url, Stream.empty))
          const removal = outer === "removal"
          yield* disturb(
            removal ? removeAll(process) : failUpload(process),
            Effect.orDie(removal ? failUpload(other) : removeAll(other))
          )
          assert.deepStrictEqual(yield* readCounts(store), { names: 1, counted: 0, inProjects: 0 }, label)
        })
      )
  )

  it.effect.each(["upload", "next upload", "removal"])(
    "are those of the deployments after a process died at any store call (of: %s)",
    (operation) =>
      forEachCall({ deploymentsPerAccount: 1 }, ({ process, other, store, kill, label }) =>
        Effect.gen(function* () {
          if (operation !== "upload") yield* deploy(other, "one")
          const run = operation === "removal" ? removeAll(process) : deploy(process, "one")
          yield* kill(run)
          // The lease of the upload expires, and the other process finishes the removal.
          yield* TestClock.adjust("31 seconds")
          const { total } = yield* listDeployments(other.deployments)
          if (total === 1) {
            assert.strictEqual((yield* Effect.flip(deploy(other, "two")))._tag, "LimitReached", label)
            assert.deepStrictEqual(yield* readCounts(store), { names: 1, counted: 1, inProjects: 1 }, label)
            yield* removeAll(other)
          }
          yield* eventually(Effect.exit(deploy(other, "two")), Exit.isSuccess)
          const names = total === 1 || operation !== "upload" ? 2 : 1
          assert.deepStrictEqual(yield* readCounts(store), { names, counted: 1, inProjects: 1 }, label)
        })
      )
  )

  it.effect("of a process that died are given back once, for any interleaving of two others", () =>
    forEachCall({ deploymentsPerAccount: 2 }, ({ process, other, store, disturb, label }) =>
      Effect.gen(function* () {
        yield* deploy(other, "kept")
        const dying = yield* startDisconnectableProcess(store, memoryTarget(), memorySourceStore())
        const url = yield* createUploadUrl(dying.uploads, makeBranch("dying"))
        yield* Effect.forkChild(dying.uploads.receive(url, Stream.never))
        yield* eventually(readCounts(store), ({ counted }) => counted === 2)
        dying.disconnect()
        yield* dying.stop
        yield* TestClock.adjust("31 seconds")
        const exits: Array<Exit.Exit<unknown, unknown>> = []
        const deployTwo = Effect.map(Effect.exit(deploy(other, "two")), (exit) => exits.push(exit))
        exits.push(yield* disturb(Effect.exit(deploy(process, "one")), deployTwo))
        assert.deepStrictEqual(exits.map(Exit.isSuccess).sort(), [false, true], label)
        assert.deepStrictEqual(yield* readCounts(store), { names: 2, counted: 2, inProjects: 2 }, label)
      })
    )
  )

  it.effect("are those of the deployments when an upload pauses at any store call until its lease has expired", () =>
    forEachCall({ deploymentsPerAccount: 1 }, ({ process, other, store, disturb, label }) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const pause = Effect.andThen(TestClock.adjust("31 seconds"), Effect.exit(deploy(other, "two")))
        yield* disturb(Effect.exit(deploy(process, "one")), Effect.provideService(pause, Clock.Clock, clock))
        const { total } = yield* listDeployments(other.deployments)
        assert.deepStrictEqual(yield* readCounts(store), { names: total, counted: total, inProjects: total }, label)
      })
    )
  )
})
