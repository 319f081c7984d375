/**
 * Calls that must not compile. TypeScript reports each `@ts-expect-error` whose next line compiles.
 */
import { createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { AccountName, type Consumers, KeyBucketName } from "@tollgate/core/effect"
import { defineModule } from "@tollgate/core/module"
import { deployments, memorySourceStore, targetFromPromises } from "@tollgate/deployments"
import { requireApiKey } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { openTelemetry } from "@tollgate/opentelemetry"
import { webhooks } from "@tollgate/webhooks"
import { defineError } from "../../store/src/errors/defineError.ts"
import { applyPatch } from "../../store/src/schema/patch.ts"
import { memoryDeployments } from "./allModules.ts"

const store = MemoryStore.open()
const secret = "x".repeat(32)

export const wrongUse = async (consumers: Consumers["Service"]): Promise<void> => {
  // @ts-expect-error: the secret is required
  await createTollgate({ store })
  // @ts-expect-error: no such option
  await createTollgate({ store, secret, tokenz: [] })
  // @ts-expect-error: no such key storage
  await createTollgate({ store, secret, keyStorage: "plain" })

  const gate = await createTollgate({ store, secret, modules: [memoryDeployments()] })
  const keyBucket = gate.account("acme").keyBucket("b")
  const { subscriptions } = gate.account("acme").meteringBucket("bckt")
  const { deployments: ofProject } = gate.account("acme").project("web")
  // @ts-expect-error: the name is required
  await keyBucket.consumers.create({})
  // @ts-expect-error: no such field
  await keyBucket.consumers.create({ name: "alice", decription: "x" })
  // @ts-expect-error: a timestamp is a string or a Date
  await keyBucket.keys.create("alice", { expiresOn: 5 })
  // @ts-expect-error: a description is no timestamp
  await keyBucket.keys.update("alice", "key_1", { description: new Date() })
  // @ts-expect-error: metadata is JSON
  await keyBucket.consumers.create({ name: "alice", metadata: { since: new Date() } })
  // @ts-expect-error: no such format
  await keyBucket.keys.list("alice", { keyFormat: "all" })
  // @ts-expect-error: no such status
  await subscriptions.update("sbsc", { status: "paused" })
  // @ts-expect-error: a promise that is not awaited has no such field
  keyBucket.verify("key").valid
  // @ts-expect-error: only an allowed result has a consumer
  ;(await keyBucket.authorize("k")).consumer.name
  // @ts-expect-error: the key bucket is required
  requireApiKey(gate)
  // @ts-expect-error: deployments need a target
  deployments({ sources: memorySourceStore() })
  // @ts-expect-error: a target must have publish
  targetFromPromises({ build: async () => ({ exitCode: 0 }) })
  // @ts-expect-error: the branch is required
  await ofProject.createSource({})
  // @ts-expect-error: a promise that is not awaited has no such field
  ofProject.get("web").url
  // @ts-expect-error: webhooks are not among its modules
  gate.account("acme").webhooks
  const sender = await createTollgate({ store, secret, modules: [webhooks()] })
  await sender.account("acme").webhooks.list()
  // A module that adds no methods leaves those of others.
  const traced = await createTollgate({
    store,
    secret,
    modules: [openTelemetry(), webhooks(), defineModule({ name: "own" })]
  })
  await traced.account("acme").webhooks.list()
  // @ts-expect-error: deployments are not among its modules
  sender.account("acme").project("web")
  // @ts-expect-error: webhooks are not among its modules
  createClient({ baseUrl: "https://example.com", token: "" }).account("acme").webhooks
  // @ts-expect-error: the token is required
  createClient({ baseUrl: "https://example.com" })

  // @ts-expect-error: the Effect API accepts only validated names
  consumers.get({ params: { accountName: "acme", bucketName: KeyBucketName.make("b"), consumerName: "alice" } })
  const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("b") }
  consumers.get({ params: { ...bucket, consumerName: "alice" } })
}

const declaration = { code: "undocumented", status: 400, title: "Undocumented", detail: () => "" } as const

export const undocumentedErrors = [
  // @ts-expect-error: the remedy is required
  defineError<never>()("WithoutRemedy", { ...declaration, meaning: "It occurs." }),
  // @ts-expect-error: the meaning is required
  defineError<never>()("WithoutMeaning", { ...declaration, remedy: "Try again." })
]

const stored: { readonly name: string; readonly description?: string } = { name: "alice" }

export const wrongPatches = [
  // @ts-expect-error: the record has no such field, so the value would be lost
  applyPatch(stored, { note: "x" }),
  // @ts-expect-error: a required field cannot be cleared
  applyPatch(stored, { name: null }),
  applyPatch(stored, { description: null })
]
