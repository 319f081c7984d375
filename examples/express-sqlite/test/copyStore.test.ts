import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { getNodeOptions, startPostgres, startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("acme", "production")

interface Output {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const root = new URL("../../..", import.meta.url).pathname
const script = new URL("../src/copyStore.ts", import.meta.url).pathname

const run = (program: string, ...args: ReadonlyArray<string>): Effect.Effect<Output> =>
  Effect.promise(
    () =>
      new Promise((resolve) =>
        execFile(program, args, { cwd: root }, (error, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), stdout, stderr })
        )
      )
  )

/** Runs what `npm run copy-store` runs. */
const copyStore = (...stores: ReadonlyArray<string>) => run(process.execPath, ...getNodeOptions(), script, ...stores)

/** A SQLite database with 6,000 records and a counter. */
const makeDatabase = Effect.gen(function* () {
  const path = join(yield* temporaryFolder, "from.db")
  const store = yield* Effect.promise(() => SqliteStore.open(path))
  const puts = Array.from({ length: 6_000 }, (_, index) =>
    Change.Put({ key: `r${index}`, expect: 0, body: "body", indexTerms: ["t"], uniqueKeys: [] })
  )
  yield* store.commit(partition, [...puts, Change.Add({ counter: "n", by: 3, ttl: 86_400_000 })])
  yield* Effect.promise(() => store.close())
  return path
})

const countRecords = (store: StoreOperations) =>
  Effect.map(store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 0 }]), ([page]) => page?.total)

describe("npm run copy-store", () => {
  it.live(
    "copies SQLite to Redis and on to PostgreSQL, with progress, totals and the same hash",
    () =>
      Effect.gen(function* () {
        const path = yield* makeDatabase
        const [redis, postgres] = [yield* startRedis({ tcp: true }), yield* startPostgres()]
        const first = yield* copyStore(`sqlite:${path}`, redis.url)
        assert.deepStrictEqual([first.code, first.stderr], [0, ""])
        const lines = first.stdout.split("\n")
        assert.deepStrictEqual(lines.slice(0, 3), [
          "Copied 5,000 records, 0 of 1 partition",
          "Checked 5,000 records, 0 of 1 partition",
          "Copied and checked 6,000 records, 1 counter, 0 recorded responses, 1 partition"
        ])
        assert.match(lines[3] ?? "", /^Hash of the contents: [0-9a-f]{64}$/)

        const second = yield* run("npm", "run", "copy-store", "--", redis.url, postgres.url)
        assert.include(second.stdout, lines[3] ?? "")
        for (const open of [() => RedisStore.open(redis.url), () => PostgresStore.open(postgres.url)]) {
          const store = yield* Effect.promise(open)
          assert.strictEqual(yield* countRecords(store), 6_000)
          assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [3])
          yield* Effect.promise(() => store.close())
        }

        const again = yield* copyStore(`sqlite:${path}`, redis.url)
        assert.strictEqual(again.code, 1)
        assert.match(again.stderr, /^Cannot copy the store: the target is not empty\. .* delete the keys of Redis.*\n$/)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "prints one line for a mistake, without passwords, and creates no file",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const missing = join(folder, "missing.db")
        const empty = join(folder, "empty.db")
        yield* Effect.promise(async () => (await SqliteStore.open(empty)).close())
        const expected: ReadonlyArray<readonly [stores: ReadonlyArray<string>, message: string]> = [
          [[], "Usage: npm run copy-store -- FROM TO"],
          [[`sqlite:${empty}`], "Usage: npm run copy-store -- FROM TO"],
          [["mysql://root:password@db", `sqlite:${empty}`], "FROM must be"],
          [[`sqlite:${empty}`, "memory:"], 'TO is "memory:"'],
          [[`sqlite:${empty}`, `sqlite:${empty}`], "FROM and TO are the same store"],
          [[`sqlite:${missing}`, `sqlite:${empty}`], `There is no SQLite database ${missing}`],
          [[`sqlite:${empty}`, `sqlite:${join(folder, "new.db")}`], "FROM is empty: there is nothing to copy"],
          [[`sqlite:${empty}`, "redis://:password@127.0.0.1:1"], "Cannot open the Redis at redis://127.0.0.1:1"],
          [["postgres://me:password@127.0.0.1:1/db", `sqlite:${empty}`], "Cannot open the PostgreSQL"]
        ]
        const check = Effect.fnUntraced(function* ([stores, message]: (typeof expected)[number]) {
          const { code, stdout, stderr } = yield* copyStore(...stores)
          assert.strictEqual(code, 1, stores.join(" "))
          assert.include(stderr, message)
          assert.match(stderr, /^[^\n]+\n$/)
          assert.notInclude(stdout + stderr, "password")
        })
        yield* Effect.forEach(expected, check, { concurrency: 3 })
        assert.isFalse(existsSync(missing))
      }),
    120_000
  )
})
