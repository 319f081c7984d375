import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { createClient, type TollgateClient } from "@tollgate/core/client"
import { memorySourceStore, memoryTarget } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { eventually, makeSubscription } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

const token = "a-management-token-for-tests"
let gate: Tollgate
let server: Server
let baseUrl: string
let client: TollgateClient

beforeAll(async () => {
  server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/api/dev`
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [
      { token, account: "acme" },
      { token: "a-token-that-may-only-read", account: "acme", access: "read" },
      { token: "a-token-for-all-accounts", account: "*" }
    ],
    publicUrl: baseUrl,
    deployments: { sources: memorySourceStore(), target: memoryTarget(), sourceLimit: 1000 }
  })
  server.on("request", toNodeHandler(gate, { prefix: "/api/dev" }))
  client = createClient({ baseUrl, token })
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await gate.close()
})

/** The error that a promise rejects with. */
const getError = (attempt: Promise<unknown>) =>
  attempt.then(
    () => expect.fail("The call succeeded"),
    (error) => error
  )

describe("createClient, over HTTP", () => {
  it("returns the same results as the gate", async () => {
    const created = await client.consumers.create(
      "acme",
      "b",
      { name: "alice", tags: { team: "blue" }, managers: ["boss@example.com"] },
      { withApiKey: true }
    )
    const include = { apiKeys: true, managers: true, managerInvites: true, keyFormat: "visible" } as const
    expect(await client.consumers.get("acme", "b", "alice", include)).toEqual(
      await gate.consumers.get("acme", "b", "alice", include)
    )
    const query = { limit: 1, tags: { team: "blue" }, managerEmail: "BOSS@example.com" }
    expect(await client.consumers.list("acme", "b", query)).toEqual(await gate.consumers.list("acme", "b", query))
    const key = created.apiKeys?.[0]?.key ?? ""
    expect(await client.keys.verify("acme", "b", key)).toEqual(await gate.keys.verify("acme", "b", key))
    expect(await client.keys.verify("acme", "b", "unknown-key")).toEqual({ valid: false, reason: "invalid" })
    const [first] = (await client.keys.createMany("acme", "b", "alice", [{ description: "1" }, {}])).data
    const id = first?.id ?? ""
    await client.keys.update("acme", "b", "alice", id, { expiresOn: "2031-01-01T00:00:00Z", description: null })
    expect(await client.keys.get("acme", "b", "alice", id)).toEqual(await gate.keys.get("acme", "b", "alice", id))
    const rolled = await client.consumers.rollKey("acme", "b", "alice", { expiresOn: "2030-01-01T00:00:00Z" })
    expect(await client.keys.list("acme", "b", "alice")).toEqual(await gate.keys.list("acme", "b", "alice"))
    expect(await client.keys.verify("acme", "b", rolled.key ?? "")).toMatchObject({ valid: true, keyId: rolled.id })
    await client.keys.remove("acme", "b", "alice", rolled.id)
    const updated = await client.consumers.update(
      "acme",
      "b",
      "alice",
      { description: "d" },
      { ifTags: { team: "blue" } }
    )
    expect(updated.description).toBe("d")
    await client.consumers.remove("acme", "b", "alice")
    expect((await gate.consumers.list("acme", "b")).total).toBe(0)
  })

  it("manages metering buckets, plans, subscriptions and usage", async () => {
    const { id: bucketId } = await client.meteringBuckets.create("acme", { idempotencyKey: "once" })
    expect((await client.meteringBuckets.create("acme", { idempotencyKey: "once" })).id).toBe(bucketId)
    expect(await client.meteringBuckets.list("acme")).toEqual(await gate.meteringBuckets.list("acme"))
    expect(await getError(client.meteringBuckets.list("other"))).toMatchObject({ _tag: "Forbidden" })
    await gate.meteringBuckets.create("other")
    const adminClient = createClient({ baseUrl, token: "a-token-for-all-accounts" })
    expect(await adminClient.meteringBuckets.list("acme")).toEqual(await gate.meteringBuckets.list("acme"))
    expect(await adminClient.meteringBuckets.list("*")).toEqual(await gate.meteringBuckets.list("*"))
    const plan = await client.plans.create(bucketId, {
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 2 } }
    })
    const subscription = await client.subscriptions.create(bucketId, makeSubscription(plan.id, "p", {}))
    expect(await client.subscriptions.list(bucketId, { status: "active" })).toEqual(
      await gate.subscriptions.list(bucketId)
    )
    expect((await client.usage.consume(bucketId, subscription.id, { requests: 2 })).meters["requests"]?.remaining).toBe(
      0
    )
    expect(await client.usage.quotas(bucketId, subscription.id)).toEqual(
      await gate.usage.quotas(bucketId, subscription.id)
    )
    const overQuota = await getError(client.usage.consume(bucketId, subscription.id, { requests: 1 }))
    expect(overQuota).toMatchObject({ _tag: "QuotaExceeded", meter: "requests", max: 2 })
    expect(await getError(client.plans.remove(bucketId, plan.id))).toMatchObject({
      _tag: "PlanInUse",
      planId: plan.id
    })
    await client.subscriptions.update(bucketId, subscription.id, { status: "canceled" })
    const inactive = await getError(client.usage.consume(bucketId, subscription.id, { requests: 1 }))
    expect(inactive).toMatchObject({ _tag: "SubscriptionNotActive", status: "canceled" })
    await client.subscriptions.remove(bucketId, subscription.id)
    await client.plans.update(bucketId, plan.id, { label: "Q" })
    expect((await client.plans.get(bucketId, plan.id)).label).toBe("Q")
    await client.plans.remove(bucketId, plan.id)
    await client.meteringBuckets.remove(bucketId)
    expect(await getError(client.meteringBuckets.get(bucketId))).toMatchObject({
      _tag: "MeteringBucketNotFound",
      bucketId
    })
  })

  it("fails with the same tagged errors", async () => {
    await client.consumers.create("acme", "errors", { name: "alice", apiKeys: [{ key: "a-value-that-is-taken" }] })
    const tags = async (...attempts: ReadonlyArray<Promise<unknown>>) =>
      Promise.all(attempts.map(async (attempt) => (await getError(attempt))._tag))
    const reader = createClient({ baseUrl, token: "a-token-that-may-only-read" })
    const unauthenticated = createClient({ baseUrl, token: "an-unknown-management-token" })
    expect(
      await tags(
        client.consumers.create("acme", "errors", { name: "alice" }),
        client.consumers.create("acme", "errors", { name: "ALICE" }),
        client.consumers.get("acme", "errors", "bob"),
        client.keys.get("acme", "errors", "alice", "key_x"),
        client.keys.create("acme", "errors", "alice", { key: "a-value-that-is-taken" }),
        client.consumers.list("other", "errors"),
        reader.consumers.create("acme", "errors", { name: "bob" }),
        unauthenticated.consumers.list("acme", "errors"),
        createClient({ baseUrl: "http://127.0.0.1:1", token }).consumers.list("acme", "errors"),
        createClient({ baseUrl: `${baseUrl}/wrong-path`, token }).consumers.list("acme", "errors")
      )
    ).toEqual([
      "ConsumerNameTaken",
      "InvalidInput",
      "ConsumerNotFound",
      "KeyNotFound",
      "KeyValueTaken",
      "Forbidden",
      "Forbidden",
      "Unauthorized",
      "StoreUnavailable",
      "StoreUnavailable"
    ])
  })

  it("times out when the server does not respond", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1")
    await once(silent, "listening")
    const address = silent.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const error = getError(createClient({ baseUrl: `http://127.0.0.1:${port}`, token }).meteringBuckets.list("acme"))
      await once(silent, "request")
      await vi.advanceTimersByTimeAsync(30_000)
      expect(await error).toMatchObject({ _tag: "StoreUnavailable", retryable: true })
    } finally {
      vi.useRealTimers()
      silent.close()
      silent.closeAllConnections()
    }
  })

  it("reports malformed keys as invalid without a request", async () => {
    for (const key of [undefined, null, 5, "\ud800", "a\u0000b"]) {
      const malformedKey = key as unknown as string
      expect(await client.keys.verify("acme", "errors", malformedKey)).toEqual({ valid: false, reason: "invalid" })
    }
  })

  it("validates its options", () => {
    expect(() => createClient({ baseUrl: "nowhere", token })).toThrow("baseUrl: must be an HTTP(S) URL")
    expect(() => createClient({ baseUrl, token: "" })).toThrow("token: must be a management token")
  })

  it("uploads and deploys, with the HTTP API mounted at a prefix", async () => {
    const branch = { accountName: "acme", projectName: "web", branchName: "main" }
    const { uploadUrl } = await client.deployments.createSource(branch)
    expect(uploadUrl.startsWith(`${baseUrl}/v1/uploads/`)).toBe(true)
    const archive = new TextEncoder().encode("an archive")
    const large = new Uint8Array(1001)
    expect(await getError(client.deployments.upload(uploadUrl, large))).toMatchObject({
      _tag: "SourceTooLarge",
      limit: 1000
    })
    const empty = await getError(client.deployments.upload(uploadUrl, new Uint8Array()))
    expect(empty).toMatchObject({ _tag: "UploadInterrupted" })
    expect(await getError(client.deployments.get(".."))).toMatchObject({ _tag: "DeploymentNotFound" })
    expect(await getError(client.deployments.status("acme", "web", ""))).toMatchObject({ _tag: "StatusNotFound" })
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(archive)
        controller.close()
      }
    })
    const { id, bytes } = await client.deployments.upload(uploadUrl, stream)
    expect(bytes).toBe(10)
    expect(await getError(client.deployments.upload(uploadUrl, archive))).toMatchObject({ _tag: "AlreadyUploaded" })
    expect(await getError(client.deployments.upload(`${uploadUrl}0`, archive))).toMatchObject({
      _tag: "UploadForbidden"
    })
    const status = await eventually(async () => {
      const status = await client.deployments.status("acme", "web", id)
      expect(status.status).toBe("SUCCESS")
      return status
    })
    expect(status).toEqual(await gate.deployments.status("acme", "web", id))
    expect(await (await fetch(status.url)).text()).toBe("an archive")
    const redirected = await fetch(status.url.replace(/\/$/, ""))
    expect(redirected.url).toBe(status.url)
    const { data } = await client.deployments.list("acme", "web")
    expect(data).toEqual((await gate.deployments.list("acme", "web")).data)
    const name = data[0]?.name ?? ""
    expect(await client.deployments.get(name)).toEqual(await gate.deployments.get(name))
    expect(await client.deployments.deploy(name, { idempotencyKey: "again" })).toEqual({ status: "request enqueued" })
    await client.deployments.remove(name)
    expect(await getError(client.deployments.get(name))).toMatchObject({
      _tag: "DeploymentNotFound",
      deployment: name
    })
    expect(await getError(client.deployments.status("acme", "web", id))).toMatchObject({ _tag: "StatusNotFound" })
  })
})
