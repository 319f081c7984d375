/**
 * The stores pass the contract as they are in the package: bundled with Effect. The contract is bundled with them, because
 * stores and contract have to share one Effect.
 */
import { resolve } from "node:path"
import { bundle } from "../../tools/src/tollgate/bundle.ts"

const folder = resolve("node_modules/.cache/tollgate-contract")
const stores = {
  memory: "packages/tollgate/src/memory.ts",
  sqlite: "packages/tollgate/src/sqlite.ts",
  testkit: "packages/store-testkit/src/index.ts"
}
await bundle(stores, folder, ["vitest"])
const { MemoryStore } = await import(`${folder}/memory.js`)
const { SqliteStore } = await import(`${folder}/sqlite.js`)
const { storeContract } = await import(`${folder}/testkit.js`)

storeContract("the built memory store", MemoryStore.layer)
storeContract("the built SQLite store", SqliteStore.layer(":memory:"))
