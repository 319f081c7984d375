/**
 * The Tollgate of the application. The store is a file, because Next may load this module more than once.
 */
import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"

export const gate = await createTollgate({
  store: await SqliteStore.open(process.env["TOLLGATE_DATABASE"] ?? "tollgate.db"),
  secret: process.env["TOLLGATE_SECRET"],
  tokens: [{ token: process.env["TOLLGATE_TOKEN"] ?? "", account: "acme" }],
  // `gate.handler` does not know its path, which Location headers and upload URLs contain.
  publicUrl: process.env["TOLLGATE_PUBLIC_URL"] ?? "http://localhost:3000/api/dev"
})

export const production = gate.account("acme").keyBucket("production")
export const billing = await gate.account("acme").meteringBuckets.ensure("billing")
