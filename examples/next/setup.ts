/**
 * Creates a plan, a customer with a key, and a subscription, over the HTTP API of the running application. Prints a call
 * with the key.
 */
import { createClient } from "tollgate/client"

const url = process.env["APP_URL"] ?? "http://localhost:3000"
const token = process.env["TOLLGATE_TOKEN"] ?? ""
const acme = createClient({ baseUrl: `${url}/api/dev`, token }).account("acme")
const billing = await acme.meteringBuckets.ensure("default")
await billing.plans.create({ label: "pro", meters: { requests: { max: 2 } } })
const alice = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
console.log(`curl -s ${url}/api/orders -H "Authorization: Bearer ${alice.apiKeys[0].key}"`)
