/**
 * A server that a hostile tenant attacks: the HTTP API with everything that can be switched on, and routes of the host.
 * It runs in a process of its own, so that its memory can be measured, and until it is killed.
 */

import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { adminConsole } from "@tollgate/console"
import { type BearerToken, createTollgate, type Tollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { requireApiKey, toNodeHandler } from "@tollgate/node"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { Store } from "@tollgate/store"
import { type WebhooksModule, webhooks } from "@tollgate/webhooks"
import { Layer } from "effect"
import { makeDnsResolver } from "../../webhooks/src/makeDnsResolver.ts"
import { WebhookResolver } from "../../webhooks/src/WebhookResolver.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface HostileServerInput {
  readonly shared: SharedStore
  /** For the deployed sites. */
  readonly folder: string
  readonly secret: string
  readonly tokens: ReadonlyArray<BearerToken>
  readonly dnsServer: string
  /** Accepts webhooks and never answers. */
  readonly hangingUrl: string
  /** How many consumers with many tags the attacker has. */
  readonly taggedConsumers: number
}

export interface HostileServer {
  readonly port: number
  /** The API key of the honest tenant. */
  readonly key: string
  /** A metering bucket of the attacker, with many meters. */
  readonly meteringBucketId: string
  /** One of the attacker's webhooks. */
  readonly webhookId: string
}

const largeConsumers = 150
const tagNames = Array.from({ length: 50 }, (_, index) => `t${index}`)

const runConcurrently = async (count: number, run: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const runNext = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: 8 }, runNext))
}

/** What the attacker has collected before the attack. */
const setUpAttacker = async (gate: Tollgate<WebhooksModule>, { hangingUrl, taggedConsumers }: HostileServerInput) => {
  const account = gate.account("a")
  // As many values as fit into 64 KiB, with as many lists as are allowed: they take the most memory for their bytes.
  const metadata = { numbers: Array.from({ length: 31_000 }, () => 1), lists: Array.from({ length: 990 }, () => []) }
  const large = account.keyBucket("large").consumers
  await runConcurrently(largeConsumers, (index) => large.create({ name: `c${index}`, metadata }))
  const tags = Object.fromEntries(tagNames.map((name) => [name, "x"]))
  const tagged = account.keyBucket("tagged").consumers
  await runConcurrently(taggedConsumers, (index) => tagged.create({ name: `c${index}`, tags }))
  const { id } = await account.meteringBuckets.create()
  for (let plan = 0; plan < 20; plan++) {
    const names = Array.from({ length: 50 }, (_, index) => `m${plan * 50 + index}`)
    const meters = Object.fromEntries(names.map((name) => [name, { max: 1 }]))
    await account.meteringBucket(id).plans.create({ label: `p${plan}`, meters })
  }
  const { id: webhookId } = await account.webhooks.create({ url: hangingUrl })
  // A few less than it may have.
  for (let count = 1; count < 16; count++) await account.webhooks.create({ url: hangingUrl })
  return { meteringBucketId: id, webhookId }
}

const setUpHonest = async (gate: Tollgate) => {
  const account = gate.account("b")
  const keyBucket = account.keyBucket("production")
  const metering = await account.meteringBuckets.ensure("default")
  await metering.plans.create({ label: "large", meters: { requests: { max: 1e9 } } })
  const { apiKeys } = await keyBucket.consumers.create({ name: "alice" }, { withApiKey: true })
  await metering.subscriptions.create({ customerKey: "alice", planExternalIds: ["large"] })
  return { keyBucket, meteringBucketId: metering.id, key: apiKeys[0].key ?? "" }
}

/** What is measured is how long requests take. On a machine that others keep busy, Redis may miss its timeout of 2 seconds. */
const openStore = (shared: SharedStore) =>
  shared.store === "Redis" ? RedisStore.open(shared.location, { commandTimeout: 10_000 }) : openSharedStore(shared)

const serve = async (input: HostileServerInput): Promise<HostileServer> => {
  const store = await openStore(input.shared)
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  // Over HTTP, names of webhooks are resolved as public ones are, although their servers are on this machine.
  const resolve = makeDnsResolver([input.dnsServer])
  const resolver = Layer.succeed(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve })
  const ignore = () => undefined
  const gate = await createTollgate({
    store: Layer.merge(Layer.succeed(Store, store), resolver),
    secret: input.secret,
    tokens: input.tokens,
    publicUrl: `http://127.0.0.1:${port}`,
    modules: [
      adminConsole(),
      webhooks({ allowPrivateNetworks: true }),
      deployments(sites({ folder: join(input.folder, "sites") }))
    ],
    logger: { debug: ignore, info: ignore, warn: ignore, error: console.error }
  })
  const attacker = await setUpAttacker(gate, input)
  const honest = await setUpHonest(gate)
  const options = {
    rateLimit: { limit: 1_000, per: "second" },
    metering: { meteringBucketId: honest.meteringBucketId, meters: { requests: 1 } }
  } as const
  const routes: Readonly<Record<string, ReturnType<typeof requireApiKey>>> = {
    "/hello": requireApiKey(honest.keyBucket, options),
    "/open": requireApiKey(honest.keyBucket, { ...options, onStoreUnavailable: "allow" })
  }
  const handle = toNodeHandler(gate)
  const listener: RequestListener = (req, res) => {
    const protect = routes[req.url ?? ""]
    if (protect === undefined) return void handle(req, res)
    void protect(req, res, (error) => {
      res.statusCode = error === undefined ? 200 : 500
      res.end("hello")
    })
  }
  server.on("request", listener)
  return { port, key: honest.key, ...attacker }
}

process.once("message", async (input: HostileServerInput) => {
  process.send?.(await serve(input))
})
