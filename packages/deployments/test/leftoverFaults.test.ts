/**
 * Releases that are not needed any more are removed, and never one that is needed, whichever store call fails.
 */
import { assert, describe, it } from "@effect/vitest"
import { memorySourceStore } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { Effect } from "effect"
import { eventually, startProcess } from "../../core/test/processes.ts"
import { deploy, findNeeded, getName, makeTarget, type Process, waitForEnd } from "./releases.ts"

const serve = (
  { deployments }: Process,
  deploymentName: string,
  version: string | undefined,
  as: "rollback" | "promote"
) => deployments[as]({ params: { deploymentName }, payload: { version: version as never } })

/** The versions that are kept, the oldest first. */
const findKept = (process: Process, deploymentName: string) =>
  Effect.map(
    process.deployments.versions({ params: { deploymentName }, query: { limit: 100, offset: 0 } }),
    ({ data }) => data.flatMap(({ id, isKept }) => (isKept ? [id] : [])).reverse()
  )

/** What a process does while one of its store calls fails. */
const steps: Readonly<
  Record<string, (process: Process, name: string, kept: ReadonlyArray<string>) => Effect.Effect<unknown, unknown>>
> = {
  "an upload and its run": (process) => deploy(process),
  "another run": (process, name) =>
    Effect.gen(function* () {
      yield* process.deployments.deploy({ params: { deploymentName: name } })
      const [latest] = (yield* process.deployments.versions({
        params: { deploymentName: name },
        query: { limit: 1, offset: 0 }
      })).data
      yield* waitForEnd(process, latest?.id ?? "")
    }),
  "a rollback": (process, name, [, second]) => serve(process, name, second, "rollback"),
  "a promotion": (process, name, kept) => serve(process, name, kept.at(-1), "promote")
}

describe("leftovers", () => {
  const cases = Object.keys(steps).flatMap((step) =>
    (["fail", "lose-reply"] satisfies ReadonlyArray<Fault>).map((fault) => [step, fault] as const)
  )
  it.effect.each(cases)("of %s are removed, and nothing else, when any store call has the fault %s", ([step, fault]) =>
    Effect.gen(function* () {
      const [{ target, releases }, sources] = [makeTarget(), memorySourceStore()]
      const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
      const process = yield* startProcess(store, target, sources)
      for (let version = 0; version < 10; version++) yield* deploy(process)
      const deployment = yield* getName(process)
      const isMissing = (id: string) => !releases.has(id)
      for (let call = 1, isOver = false; !isOver; call++) {
        // An eleventh that is served beside the ten that are kept.
        const [oldest] = yield* findKept(process, deployment)
        yield* serve(process, deployment, oldest, "rollback")
        yield* deploy(process)
        yield* eventually(Effect.succeed(releases), ({ size }) => size === 11)
        const kept = yield* findKept(process, deployment)
        injectAt(call, fault)
        yield* Effect.exit(steps[step]?.(process, deployment, kept) ?? Effect.void)
        isOver = calls() < call
        injectAt(0, "fail")
        // Never one that is needed, at no time.
        const missing = [...(yield* findNeeded(process, deployment))].filter(isMissing)
        // A run that ends meanwhile may have replaced one.
        const stillNeeded = missing.length === 0 ? new Set() : yield* findNeeded(process, deployment)
        for (const id of missing) assert.isFalse(stillNeeded.has(id), `${id} after ${call}`)
        yield* eventually(
          findNeeded(process, deployment),
          (needed) => needed.size === releases.size && ![...needed].some(isMissing)
        )
      }
    }).pipe(Effect.scoped)
  )
})
