/**
 * The Tollgate of the application, and its protected route handlers.
 */
import { createTollgate } from "tollgate"
import { type RequestConsumer, withApiKey } from "tollgate/fetch"
import { SqliteStore } from "tollgate/sqlite"

const open = async () => {
  const store = await SqliteStore.open(process.env["TOLLGATE_DATABASE"] ?? "tollgate.db")
  const gate = await createTollgate({
    store,
    secret: process.env["TOLLGATE_SECRET"],
    tokens: [{ token: process.env["TOLLGATE_TOKEN"] ?? "", account: "acme" }],
    publicUrl: "http://localhost:3000/api/dev" // gate.handler does not know its path
  })
  const acme = gate.account("acme")
  return {
    store,
    gate,
    production: acme.keyBucket("production"),
    billing: await acme.meteringBuckets.ensure("default")
  }
}
const globals = globalThis as typeof globalThis & { tollgate?: ReturnType<typeof open> }
/** Opens the gate at the first request. Kept on globalThis, because Next loads modules again when you edit them. */
export const getTollgate = () => {
  globals.tollgate ??= open()
  return globals.tollgate
}

/** A route handler that needs a key and counts its calls. */
export const withKey =
  (handler: (request: Request, authorized: { readonly consumer: RequestConsumer }) => Response | Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    const { production, billing } = await getTollgate()
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    return withApiKey(production, { metering, charge: "success" }, handler)(request)
  }
