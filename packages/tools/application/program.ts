/** Uses every package. The exported values show that an application can emit declarations of what it makes. */

import assert from "node:assert/strict"
import { adminConsole, type ConsoleModule } from "@tollgate/console"
import { ConsumerNotFound, createTollgate, type Tollgate } from "@tollgate/core"
import { createClient, ConsumerNotFound as RemoteConsumerNotFound } from "@tollgate/core/client"
import { AccountName, Consumers, KeyBucketName, Tollgate as TollgateLayers } from "@tollgate/core/effect"
import { decisionsClient } from "@tollgate/decisions/client"
import { type DeploymentsModule, deployments, memorySourceStore, targetFromPromises } from "@tollgate/deployments"
import { deploymentsClient } from "@tollgate/deployments/client"
import * as Express from "@tollgate/express"
import * as Koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { type OpenTelemetryModule, openTelemetry } from "@tollgate/opentelemetry"
import { portalClient } from "@tollgate/portal/client"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { Store } from "@tollgate/store"
import { tokensClient } from "@tollgate/tokens/client"
import { type WebhooksModule, webhooks } from "@tollgate/webhooks"
import { webhooksClient } from "@tollgate/webhooks/client"
import { Effect, Layer } from "effect"

const secret = "a secret for this check of the packages only"

export const gate: Tollgate<ConsoleModule | DeploymentsModule | OpenTelemetryModule | WebhooksModule> =
  await createTollgate({
    store: MemoryStore.open(),
    secret,
    publicUrl: "http://localhost",
    modules: [
      adminConsole(),
      deployments({ sources: memorySourceStore(), target: targetFromPromises({ publish: async () => {} }) }),
      openTelemetry(),
      webhooks()
    ]
  })
export const createGate = () => createTollgate({ store: MemoryStore.open(), secret })
export const client = createClient({
  baseUrl: "http://localhost",
  token: "a-management-token-for-acme",
  modules: [decisionsClient, deploymentsClient, portalClient, tokensClient, webhooksClient]
})
export const services = TollgateLayers.layer({ secret }).pipe(Layer.provide(MemoryStore.layer))
export const handlers = [toNodeHandler(gate), Express.tollgate(gate), Koa.tollgate(gate)] as const
export const openers = { redis: RedisStore.open, sqlite: SqliteStore.open, sites, Store }

assert.equal((await gate.handler(new Request("http://localhost/console/"))).status, 200)
const production = gate.account("acme").keyBucket("production")
const alice = await production.consumers.create({ name: "alice" }, { withApiKey: true })
const verification = await production.verify(alice.apiKeys[0].key ?? "")
assert.equal(verification.valid, true)
await assert.rejects(production.consumers.get("bob"), ConsumerNotFound)
assert.equal(ConsumerNotFound, RemoteConsumerNotFound)
export const protect = [Express.requireApiKey(production), Koa.requireApiKey(production)] as const
export const remote = client.account("acme")
export const methods = {
  accounts: [gate.accounts, client.accounts],
  keyBuckets: remote.keyBuckets,
  consumers: remote.keyBucket("production").consumers,
  keys: remote.keyBucket("production").keys,
  meteringBuckets: remote.meteringBuckets,
  plans: remote.meteringBucket("production").plans,
  subscriptions: remote.meteringBucket("production").subscriptions,
  usage: remote.meteringBucket("production").usage,
  deployments: remote.project("shop").deployments,
  projects: remote.projects,
  events: remote.events,
  decisions: remote.decisions,
  portal: [remote.portal, remote.portalSessions],
  tokens: remote.tokens,
  sessions: remote.sessions,
  webhooks: remote.webhooks
}

const params = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("production") }
export const program = Effect.gen(function* () {
  const consumers = yield* Consumers
  return yield* consumers.list({ params, query: { offset: 0, limit: 10 } })
})
assert.equal((await Effect.runPromise(Effect.provide(program, services))).total, 0)
await gate.close()
