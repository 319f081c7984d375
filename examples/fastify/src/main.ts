/**
 * `npm start`: starts the server with a consumer who may call /hello five times a month, and prints such a call.
 */
import { randomBytes } from "node:crypto"
import { start } from "./server.ts"

const makeSecret = (): string => randomBytes(32).toString("base64url")

const { gate, url, stop } = await start(makeSecret(), makeSecret(), Number(process.env["PORT"] ?? 3000))
const acme = gate.account("acme")
const { apiKeys } = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
const billing = await acme.meteringBuckets.ensure("billing")
await billing.plans.create({ label: "free", meters: { requests: { max: 5 } } })
await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["free"] })

console.log(`Fastify is listening at ${url}`)
console.log(`  curl -s -H 'Authorization: Bearer ${apiKeys[0].key}' '${url}/hello'`)

process.once("SIGINT", stop).once("SIGTERM", stop)
