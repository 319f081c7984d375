/**
 * Releases that are not needed any more are removed, also if the process that should do it dies, and never one that is
 * needed. The target has no `sweep`, so nothing but the background work finds them.
 */
import { assert, describe, it } from "@effect/vitest"
import { type DeploymentTarget, memorySourceStore } from "@tollgate/deployments"
import { Store } from "@tollgate/store"
import { Effect } from "effect"
import { eventually, startProcess } from "../../core/test/processes.ts"
import { stores } from "../../core/test/stores.ts"
import { deploy, findNeeded, getName, makeTarget } from "./releases.ts"

describe.each(stores)("leftovers, on %s", (_, layer) => {
  it.effect("are removed by another process if the one that left them dies", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [{ target, releases }, sources] = [makeTarget(), memorySourceStore()]
      const hanging: DeploymentTarget = { ...target, discard: () => Effect.never }
      const first = yield* startProcess(store, hanging, sources)
      const oldest = yield* deploy(first)
      const name = yield* getName(first)
      // The last upload finds that there is something to remove, and does not wait for it.
      for (let version = 0; version < 11; version++) yield* deploy(first)
      assert.strictEqual(releases.size, 12)
      yield* first.stop
      const second = yield* startProcess(store, target, sources)
      yield* eventually(Effect.succeed(releases), ({ size }) => size === 10)
      assert.isFalse([...releases].some((id) => id.includes(oldest)))
      assert.deepStrictEqual(releases, yield* findNeeded(second, name))
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})
