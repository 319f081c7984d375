/**
 * What must not compile. Each expectation is an error of its own if the line below it is taken.
 */
import {
  AccountName,
  type Consumers,
  createClient,
  createTollgate,
  KeyBucketName,
  memorySourceStore,
  targetFromPromises
} from "@tollgate/core"
import { requireApiKey } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"

const store = MemoryStore.open()
const secret = "x".repeat(32)

export const wrongUse = async (consumers: Consumers["Service"]): Promise<void> => {
  // @ts-expect-error: a secret is not optional
  await createTollgate({ store })
  // @ts-expect-error: no such option
  await createTollgate({ store, secret, tokenz: [] })
  // @ts-expect-error: no such retention
  await createTollgate({ store, secret, keyStorage: "plain" })

  const gate = await createTollgate({ store, secret })
  // @ts-expect-error: a consumer has a name
  await gate.consumers.create("acme", "b", {})
  // @ts-expect-error: a mistyped field
  await gate.consumers.create("acme", "b", { name: "alice", decription: "x" })
  // @ts-expect-error: a time is text
  await gate.keys.create("acme", "b", "alice", { expiresOn: 5 })
  // @ts-expect-error: no such format
  await gate.keys.list("acme", "b", "alice", { keyFormat: "all" })
  // @ts-expect-error: no such status
  await gate.subscriptions.update("bckt", "sbsc", { status: "paused" })
  // @ts-expect-error: an answer that was not awaited has no fields
  gate.keys.verify("acme", "b", "key").valid
  // @ts-expect-error: who is not let in is nobody
  ;(await gate.authorize({ account: "acme", bucket: "b", key: "k" })).consumer.name
  // @ts-expect-error: a route is protected by keys of a bucket
  requireApiKey(gate, { account: "acme" })
  // @ts-expect-error: deployments have sources and a target
  await createTollgate({ store, secret, deployments: { sources: memorySourceStore() } })
  // @ts-expect-error: a target publishes
  targetFromPromises({ build: async () => ({ exitCode: 0 }) })
  // @ts-expect-error: a source is of a branch
  await gate.deployments.createSource({ accountName: "acme", projectName: "web" })
  // @ts-expect-error: an answer that was not awaited has no fields
  gate.deployments.get("web").url
  // @ts-expect-error: a client needs a token
  createClient({ baseUrl: "https://example.com" })

  // @ts-expect-error: in Effect a name is checked before it is used
  consumers.get({ accountName: "acme", bucketName: KeyBucketName.make("b") }, "alice")
  consumers.get({ accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("b") }, "alice")
}
