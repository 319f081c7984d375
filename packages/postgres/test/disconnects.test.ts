import { assert, it } from "@effect/vitest"
import { startPostgres, startTerminatingProxy } from "@tollgate/testing"
import { Effect } from "effect"
import { open, openPool, partition, put } from "./helpers.ts"

// An error that no listener handles would end the process. Vitest fails the run then.
it.live("a connection that ends as soon as it is open: the call succeeds on another one", () =>
  Effect.gen(function* () {
    const server = yield* startPostgres()
    const proxy = yield* startTerminatingProxy(server.url)
    const pool = yield* openPool(proxy.url)
    for (const source of [proxy.url, pool]) {
      const store = yield* open(source, { schema: source === pool ? "of_pool" : "of_url" })
      for (const key of ["first", "second", "third"]) {
        const before = proxy.terminations()
        proxy.terminateNext(2)
        yield* server.terminateBackends
        yield* store.commit(partition, [put(key)])
        assert.isAbove(proxy.terminations(), before)
      }
      proxy.terminateNext(0)
      const records = yield* store.get(partition, ["first", "second", "third"])
      assert.deepStrictEqual(
        records.map((record) => record?.key),
        ["first", "second", "third"]
      )
    }
  })
)
