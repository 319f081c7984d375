/**
 * The stores that the service tests run against: those that the configuration of the test run selects.
 */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { Store } from "@tollgate/store"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { inject } from "vitest"

export type NamedStore = readonly [name: string, layer: Layer.Layer<Store, unknown>]

const sqlite = Layer.unwrap(Effect.map(temporaryFolder, (folder) => SqliteStore.layer(join(folder, "store.db"))))

const makeName = (): string => `test_${randomBytes(8).toString("hex")}`

/** Some tests write ten thousand records at once, which exceeds the default timeout on a busy machine. */
const timeoutMs = 30_000

/** Opens a part of the server of the test run, which is empty whenever the layer is built. */
const makeServerStores = (clock: "server" | "caller"): ReadonlyArray<NamedStore> => [
  [
    "Redis",
    Layer.suspend(() =>
      RedisStore.layer(inject("redisUrl"), { prefix: `${makeName()}:`, commandTimeout: timeoutMs, clock })
    )
  ],
  [
    "Postgres",
    Layer.suspend(() =>
      PostgresStore.layer(inject("postgresUrl"), { schema: makeName(), queryTimeout: timeoutMs, clock })
    )
  ]
]

const selectStores = (stores: ReadonlyArray<NamedStore>): ReadonlyArray<NamedStore> =>
  stores.filter(([name]) => inject("stores").some((selected) => selected === name))

/** The stores whose counters expire by the clock of the process, in tests the test clock. */
export const embeddedStores: ReadonlyArray<NamedStore> = selectStores([
  ["memory", MemoryStore.layer],
  ["SQLite", sqlite]
])

export const stores: ReadonlyArray<NamedStore> = [...embeddedStores, ...selectStores(makeServerStores("server"))]

/** The stores, all on the clock of the process. */
export const storesOnCallersClock: ReadonlyArray<NamedStore> = [
  ...embeddedStores,
  ...selectStores(makeServerStores("caller"))
]

export { grants, secret, tokens } from "./secrets.ts"
