/**
 * Which process runs a version, the order of runs, and targets that misbehave.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName } from "@tollgate/core/effect"
import { BranchName, type DeploymentTarget, memorySourceStore, ProjectName, type Uploads } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  content,
  createUploadUrl,
  eventually,
  flushEventLoop,
  getStatus,
  startDisconnectableProcess,
  startProcess,
  upload
} from "../../core/test/processes.ts"

const minute = 60_000

const advance = (seconds: number) =>
  Effect.gen(function* () {
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* Effect.repeat(flushEventLoop, { times: 3 })
    }
  })

/** Makes a target that records the runs it starts, and never finishes them. */
const makeHangingTarget = () => {
  const started: Array<string> = []
  const target: DeploymentTarget = {
    publish: ({ id }) =>
      Effect.suspend(() => {
        started.push(id)
        return Effect.never
      })
  }
  return { target, started }
}

describe("a lease", () => {
  it.effect.each([minute, -minute])(
    "is not affected by a clock difference of %i ms, and expires when its holder dies",
    (clockOffset) =>
      Effect.gen(function* () {
        const [store, sources] = [MemoryStore.open(), memorySourceStore()]
        const [first, second] = [makeHangingTarget(), makeHangingTarget()]
        const holder = yield* startDisconnectableProcess(store, first.target, sources)
        yield* upload(holder.uploads)
        yield* eventually(Effect.succeed(first.started), ({ length }) => length === 1)
        yield* startProcess(store, second.target, sources, { clockOffset })
        yield* advance(40)
        assert.deepStrictEqual(second.started, [], "a renewed lease is not taken over")
        holder.disconnect()
        yield* advance(9)
        assert.deepStrictEqual(second.started, [], "a lease lasts for its whole duration")
        yield* advance(7)
        assert.strictEqual(second.started.length, 1, "an expired lease is taken over")
      }).pipe(Effect.scoped)
  )

  it.effect("that was released is acquired immediately", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const [first, second] = [makeHangingTarget(), makeHangingTarget()]
      const holder = yield* startProcess(store, first.target, sources)
      yield* upload(holder.uploads)
      yield* eventually(Effect.succeed(first.started), ({ length }) => length === 1)
      yield* holder.stop
      yield* startProcess(store, second.target, sources, { clockOffset: -minute })
      yield* Effect.repeat(flushEventLoop, { times: 20 })
      assert.strictEqual(second.started.length, 1)
    }).pipe(Effect.scoped)
  )
})

describe("a target", () => {
  const misbehaving: Readonly<Record<string, () => ReturnType<DeploymentTarget["publish"]>>> = {
    throws: () => {
      throw new Error("thrown")
    },
    dies: () => Effect.die(new Error("died")),
    "interrupts itself": () => Effect.interrupt
  }

  it.effect.each(Object.entries(misbehaving))(
    "that %s fails its run immediately, and no other process starts it",
    ([, publish]) =>
      Effect.gen(function* () {
        const [store, sources] = [MemoryStore.open(), memorySourceStore()]
        let starts = 0
        const target: DeploymentTarget = {
          publish: () => {
            starts++
            return publish()
          }
        }
        const first = yield* startProcess(store, target, sources)
        yield* startProcess(store, target, sources)
        const id = yield* upload(first.uploads)
        yield* Effect.repeat(flushEventLoop, { times: 50 })
        const { value } = yield* getStatus(first.deployments, id)
        assert.strictEqual(value.status, "ERROR")
        assert.deepInclude(value.steps.publish, {
          status: "failed",
          message: "Internal error. See the server log for details."
        })
        yield* advance(30)
        assert.strictEqual(starts, 1)
      }).pipe(Effect.scoped)
  )
})

describe("runs", () => {
  const enqueue = (uploads: Uploads["Service"], account: string, name: string) =>
    Effect.gen(function* () {
      const project = { accountName: AccountName.make(account), projectName: ProjectName.make(name) }
      const url = yield* createUploadUrl(uploads, { ...project, branchName: BranchName.make("main") })
      yield* uploads.receive(url, content)
    })

  it.effect("alternate between accounts, so that one run does not wait for the twenty of another account", () =>
    Effect.gen(function* () {
      const started: Array<string> = []
      const gates: Array<Deferred.Deferred<void>> = []
      const target: DeploymentTarget = {
        publish: ({ deployment }) =>
          Effect.gen(function* () {
            started.push(`${deployment.accountName}/${deployment.projectName}`)
            const gate = yield* Deferred.make<void>()
            gates.push(gate)
            yield* Deferred.await(gate)
          })
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), target)
      for (let build = 0; build < 20; build++) yield* enqueue(uploads, "hog", `p${build}`)
      yield* enqueue(uploads, "victim", "only")
      yield* Effect.repeat(flushEventLoop, { times: 20 })
      assert.deepStrictEqual(started, ["hog/p0", "hog/p1", "hog/p2", "hog/p3"])

      const finishNext = Effect.gen(function* () {
        const gate = gates.shift()
        if (gate !== undefined) yield* Deferred.succeed(gate, undefined)
        yield* Effect.repeat(flushEventLoop, { times: 20 })
      })
      yield* finishNext
      assert.strictEqual(started[4], "victim/only")
      yield* advance(4)
      // Runs that a scan finds alternate as well.
      yield* enqueue(uploads, "victim", "second")
      yield* enqueue(uploads, "victim", "third")
      yield* enqueue(uploads, "guest", "only")
      yield* advance(4)
      for (let end = 0; end < 3; end++) yield* finishNext
      assert.deepStrictEqual(started.slice(5), ["guest/only", "hog/p4", "victim/second"])
    }).pipe(Effect.scoped)
  )
})
