/**
 * Which process runs what, in which order, and how a run ends whose target misbehaves.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  BranchName,
  type DeploymentTarget,
  memorySourceStore,
  ProjectName,
  type Uploads
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { addressOf, content, eventually, mortal, project, settled, startProcess, upload } from "./processes.ts"

const minute = 60_000

const pass = (seconds: number) =>
  Effect.gen(function* () {
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* Effect.repeat(settled, { times: 3 })
    }
  })

/** Counts the runs that it begins, none of which ends. */
const makeHolding = () => {
  const begun: Array<string> = []
  const target: DeploymentTarget = {
    publish: ({ id }) =>
      Effect.suspend(() => {
        begun.push(id)
        return Effect.never
      })
  }
  return { target, begun }
}

describe("a lease", () => {
  it.effect.each([minute, -minute])(
    "is kept by its holder whose clock differs by %i ms, and lapses when it dies",
    (clockOffset) =>
      Effect.gen(function* () {
        const [store, sources] = [MemoryStore.open(), memorySourceStore()]
        const [first, second] = [makeHolding(), makeHolding()]
        const holder = yield* mortal(store, first.target, sources)
        yield* upload(holder.uploads)
        yield* eventually(Effect.succeed(first.begun), ({ length }) => length === 1)
        yield* startProcess(store, second.target, sources, { clockOffset })
        yield* pass(40)
        assert.deepStrictEqual(second.begun, [], "a lease that is renewed is kept")
        holder.die()
        yield* pass(9)
        assert.deepStrictEqual(second.begun, [], "a lease lasts for its whole duration")
        yield* pass(7)
        assert.strictEqual(second.begun.length, 1, "a lease that lapsed is taken over")
      }).pipe(Effect.scoped)
  )

  it.effect("of a run that was given back is not waited for", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const [first, second] = [makeHolding(), makeHolding()]
      const holder = yield* startProcess(store, first.target, sources)
      yield* upload(holder.uploads)
      yield* eventually(Effect.succeed(first.begun), ({ length }) => length === 1)
      yield* holder.stop
      yield* startProcess(store, second.target, sources, { clockOffset: -minute })
      yield* Effect.repeat(settled, { times: 20 })
      assert.strictEqual(second.begun.length, 1)
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
    "that %s fails its run at once, and no other process begins it",
    ([, publish]) =>
      Effect.gen(function* () {
        const [store, sources] = [MemoryStore.open(), memorySourceStore()]
        let begun = 0
        const target: DeploymentTarget = {
          publish: () => {
            begun++
            return publish()
          }
        }
        const first = yield* startProcess(store, target, sources)
        yield* startProcess(store, target, sources)
        const id = yield* upload(first.uploads)
        yield* Effect.repeat(settled, { times: 50 })
        const { value } = yield* first.deployments.status(project, id)
        assert.strictEqual(value.status, "ERROR")
        assert.deepInclude(value.steps.publish, {
          status: "failed",
          message: "something went wrong on the server; its log says what"
        })
        yield* pass(30)
        assert.strictEqual(begun, 1)
      }).pipe(Effect.scoped)
  )
})

describe("runs", () => {
  const enqueue = (uploads: Uploads["Service"], account: string, name: string) =>
    Effect.gen(function* () {
      const of = { accountName: AccountName.make(account), projectName: ProjectName.make(name) }
      const { uploadUrl } = yield* uploads.create({ ...of, branchName: BranchName.make("main") })
      yield* uploads.receive(addressOf(uploadUrl), content)
    })

  it.effect("of accounts take turns: one does not wait behind the twenty of another", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const gates: Array<Deferred.Deferred<void>> = []
      const target: DeploymentTarget = {
        publish: ({ deployment }) =>
          Effect.gen(function* () {
            begun.push(`${deployment.accountName}/${deployment.projectName}`)
            const gate = yield* Deferred.make<void>()
            gates.push(gate)
            yield* Deferred.await(gate)
          })
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), target)
      for (let build = 0; build < 20; build++) yield* enqueue(uploads, "hog", `p${build}`)
      yield* enqueue(uploads, "victim", "only")
      yield* Effect.repeat(settled, { times: 20 })
      assert.deepStrictEqual(begun, ["hog/p0", "hog/p1", "hog/p2", "hog/p3"])

      const finishNext = Effect.gen(function* () {
        const gate = gates.shift()
        if (gate !== undefined) yield* Deferred.succeed(gate, undefined)
        yield* Effect.repeat(settled, { times: 20 })
      })
      yield* finishNext
      assert.strictEqual(begun[4], "victim/only")
      yield* pass(4)
      // What a process finds by looking takes turns as well.
      yield* enqueue(uploads, "victim", "second")
      yield* enqueue(uploads, "victim", "third")
      yield* enqueue(uploads, "guest", "only")
      yield* pass(4)
      for (let end = 0; end < 3; end++) yield* finishNext
      assert.deepStrictEqual(begun.slice(5), ["guest/only", "hog/p4", "victim/second"])
    }).pipe(Effect.scoped)
  )
})
