import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { createTollgate, InvalidInput, type LocalAccountHandle, type Tollgate } from "@tollgate/core"
import { type AccountHandle, createClient, type PagePromise, type TollgateClient } from "@tollgate/core/client"
import {
  type DeploymentsModule,
  type DeploymentsOfAccount,
  deployments,
  memorySourceStore,
  memoryTarget
} from "@tollgate/deployments"
import { deploymentsClient } from "@tollgate/deployments/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { eventually, makeSubscription } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

const token = "a-management-token-for-tests"
const modules = [deploymentsClient]
let gate: Tollgate<DeploymentsModule>
let server: Server
let baseUrl: string
let client: TollgateClient<DeploymentsOfAccount>
/** The account over HTTP, and the same account in process. */
let acme: AccountHandle & DeploymentsOfAccount
let local: LocalAccountHandle & DeploymentsOfAccount

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
      { token: "a-token-for-all-the-accounts", account: "*" }
    ],
    publicUrl: baseUrl,
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget(), sourceLimit: 1000 })]
  })
  server.on("request", toNodeHandler(gate, { prefix: "/api/dev" }))
  client = createClient({ baseUrl, token, modules })
  acme = client.account("acme")
  local = gate.account("acme")
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

const collect = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const collected: Array<A> = []
  for await (const item of items) collected.push(item)
  return collected
}

describe("createClient, over HTTP", () => {
  it("rejects an actor before it sends anything, because the actor is its credential", async () => {
    const options = { actor: "user-1" }
    const { project, meteringBuckets } = acme
    const { consumers, keys } = acme.keyBucket("b")
    const { plans, subscriptions, usage } = acme.meteringBucket("bckt_x")
    const { deployments } = project("web")
    let requests = 0
    const count = () => requests++
    server.on("request", count)
    for (const attempt of [
      () => consumers.create({ name: "actor" }, options),
      () => consumers.update("actor", {}, options),
      () => consumers.remove("actor", options),
      () => consumers.rollKey("actor", { expiresOn: "2040-01-01T00:00:00Z" }, options),
      () => keys.createMany("actor", [{}], options),
      () => meteringBuckets.create({}, options),
      () => meteringBuckets.ensure("actor", options),
      () => plans.create({ label: "Pro", meters: { requests: { max: 1 } } }, options),
      () => subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] }, options),
      () => usage.consume("sbsc_x", { requests: 1 }, options),
      () => deployments.createSource({ branchName: "main" }, options)
    ]) {
      const error = await getError(attempt())
      expect(error).toBeInstanceOf(InvalidInput)
      expect(error.errors).toEqual([
        { parameter: "actor", detail: "is possible only in process: over HTTP, the actor is the credential" }
      ])
    }
    server.off("request", count)
    expect(requests).toBe(0)
  })

  it("returns the same results as the gate", async () => {
    const [keyBucket, localKeyBucket] = [acme.keyBucket("b"), local.keyBucket("b")]
    const created = await keyBucket.consumers.create(
      { name: "alice", tags: { team: "blue" }, managers: ["boss@example.com"] },
      { withApiKey: true }
    )
    const include = { apiKeys: true, managers: true, managerInvites: true, keyFormat: "visible" } as const
    expect(await keyBucket.consumers.get("alice", include)).toEqual(
      await localKeyBucket.consumers.get("alice", include)
    )
    const query = { limit: 1, tags: { team: "blue" }, managerEmail: "BOSS@example.com" }
    expect(await keyBucket.consumers.list(query)).toEqual(await localKeyBucket.consumers.list(query))
    const key = created.apiKeys[0].key ?? ""
    expect(await keyBucket.verify(key)).toEqual(await localKeyBucket.verify(key))
    expect(await keyBucket.verify("unknown-key")).toMatchObject({ valid: false, reason: "invalid" })
    const [first] = (await keyBucket.keys.createMany("alice", [{ description: "1" }, {}])).data
    const id = first?.id ?? ""
    await keyBucket.keys.update("alice", id, { expiresOn: "2031-01-01T00:00:00Z", description: null })
    expect(await keyBucket.keys.get("alice", id)).toEqual(await localKeyBucket.keys.get("alice", id))
    const rolled = await keyBucket.consumers.rollKey("alice", { expiresOn: "2030-01-01T00:00:00Z" })
    expect(await keyBucket.keys.list("alice")).toEqual(await localKeyBucket.keys.list("alice"))
    expect(await keyBucket.verify(rolled.key ?? "")).toMatchObject({ valid: true, keyId: rolled.id })
    await keyBucket.keys.remove("alice", rolled.id)
    const updated = await keyBucket.consumers.update("alice", { description: "d" }, { ifTags: { team: "blue" } })
    expect(updated.description).toBe("d")
    await keyBucket.consumers.remove("alice")
    expect((await localKeyBucket.consumers.list()).total).toBe(0)
  })

  it("manages metering buckets, plans, subscriptions and usage", async () => {
    const { id: bucketId } = await acme.meteringBuckets.create({}, { idempotencyKey: "once" })
    expect((await acme.meteringBuckets.create({}, { idempotencyKey: "once" })).id).toBe(bucketId)
    expect(await acme.meteringBuckets.list()).toEqual(await local.meteringBuckets.list())
    expect(await getError(client.account("other").meteringBuckets.list())).toMatchObject({ _tag: "Forbidden" })
    await gate.account("other").meteringBuckets.create()
    const adminClient = createClient({ baseUrl, token: "a-token-for-all-the-accounts", modules })
    expect(await adminClient.account("acme").meteringBuckets.list()).toEqual(await local.meteringBuckets.list())
    expect(() => adminClient.account("*")).toThrow(InvalidInput)
    const [meteringBucket, localMeteringBucket] = [acme.meteringBucket(bucketId), local.meteringBucket(bucketId)]
    const plan = await meteringBucket.plans.create({
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 2 } }
    })
    const subscription = await meteringBucket.subscriptions.create(makeSubscription(plan.id, "p", {}))
    expect(await meteringBucket.subscriptions.list({ status: "active" })).toEqual(
      await localMeteringBucket.subscriptions.list()
    )
    expect((await meteringBucket.usage.consume(subscription.id, { requests: 2 })).meters["requests"]?.remaining).toBe(0)
    expect(await meteringBucket.usage.quotas(subscription.id)).toEqual(
      await localMeteringBucket.usage.quotas(subscription.id)
    )
    const overQuota = await getError(meteringBucket.usage.consume(subscription.id, { requests: 1 }))
    expect(overQuota).toMatchObject({ _tag: "QuotaExceeded", meter: "requests", max: 2 })
    expect(await getError(meteringBucket.plans.remove(plan.id))).toMatchObject({
      _tag: "PlanInUse",
      planId: plan.id
    })
    await meteringBucket.subscriptions.update(subscription.id, { status: "canceled" })
    const inactive = await getError(meteringBucket.usage.consume(subscription.id, { requests: 1 }))
    expect(inactive).toMatchObject({ _tag: "SubscriptionNotActive", subscriptionStatus: "canceled" })
    await meteringBucket.subscriptions.remove(subscription.id)
    await meteringBucket.plans.update(plan.id, { label: "Q" })
    expect((await meteringBucket.plans.get(plan.id)).label).toBe("Q")
    await meteringBucket.plans.remove(plan.id)
    await acme.meteringBuckets.remove(bucketId)
    expect(await getError(acme.meteringBuckets.get(bucketId))).toMatchObject({
      _tag: "MeteringBucketNotFound",
      bucketId
    })
  })

  it("lists what exists as the gate does, and describes the caller", async () => {
    for (const bucket of ["listed-1", "listed-2", "listed-3"]) {
      await acme.keyBucket(bucket).consumers.create({ name: "alice" })
    }
    const project = acme.project("listed")
    const { deployments } = project
    const ids: Array<string> = []
    for (const source of ["one", "two"]) {
      const { uploadUrl } = await deployments.createSource({ branchName: "main" })
      ids.unshift((await deployments.upload(uploadUrl, new TextEncoder().encode(source))).id)
    }
    await eventually(async () => expect((await deployments.status(ids[0] ?? "")).status).toBe("SUCCESS"))
    const [deployment] = (await deployments.list()).data
    const name = deployment?.name ?? ""
    const admin = createClient({ baseUrl, token: "a-token-for-all-the-accounts", modules })
    const lists: ReadonlyArray<readonly [PagePromise<unknown>, PagePromise<unknown>]> = [
      [admin.accounts.list({ limit: 1 }), gate.accounts.list({ limit: 1 })],
      [acme.keyBuckets.list({ limit: 2 }), local.keyBuckets.list({ limit: 2 })],
      [acme.projects.list({ limit: 1 }), local.projects.list({ limit: 1 })],
      [deployments.versions(name, { limit: 1 }), local.project("listed").deployments.versions(name, { limit: 1 })]
    ]
    for (const [remote, inProcess] of lists) {
      const page = await remote
      expect(page).toEqual(await inProcess)
      expect(await collect(remote)).toHaveLength(page.total)
      expect(page.total).toBeGreaterThan(0)
    }
    const versions = await collect(deployments.versions(name, { limit: 1 }))
    expect(versions.map(({ id }) => id)).toEqual(ids)
    expect((await collect(acme.keyBuckets.list({ limit: 1 }))).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["listed-1", "listed-2", "listed-3"])
    )
    expect(await client.me()).toEqual({ accountName: "acme", access: "write", id: expect.any(String) })
    expect(await admin.me()).toMatchObject({ accountName: "*", access: "write" })
    expect(await getError(client.accounts.list())).toMatchObject({ _tag: "Forbidden", status: 403 })
    expect(await getError(client.account("other").keyBuckets.list())).toMatchObject({ _tag: "Forbidden" })
    expect(await getError(client.account("other").projects.list())).toMatchObject({ _tag: "Forbidden" })
    expect((await gate.account("other").keyBuckets.list()).total).toBe(0)
    for (const account of [gate.account("other"), admin.account("other")]) {
      const attempt = account.project("listed").deployments.versions(name)
      expect(await getError(attempt)).toMatchObject({ _tag: "DeploymentNotFound" })
    }
    const otherProject = await getError(local.project("other").deployments.versions(name))
    expect(otherProject).toMatchObject({ _tag: "DeploymentNotFound" })
    expect(await getError(gate.accounts.list({ limit: 0 }))).toBeInstanceOf(InvalidInput)
  })

  it("fails with the same tagged errors", async () => {
    const errors = acme.keyBucket("errors")
    await errors.consumers.create({ name: "alice", apiKeys: [{ key: "a-value-that-is-taken" }] })
    const tags = async (...attempts: ReadonlyArray<Promise<unknown>>) =>
      Promise.all(attempts.map(async (attempt) => (await getError(attempt))._tag))
    const getBucket = (options: { readonly baseUrl?: string; readonly token?: string }) =>
      createClient({ baseUrl, token, ...options })
        .account("acme")
        .keyBucket("errors")
    const reader = getBucket({ token: "a-token-that-may-only-read" })
    const unauthenticated = getBucket({ token: "an-unknown-management-token" })
    expect(
      await tags(
        errors.consumers.create({ name: "alice" }),
        errors.consumers.create({ name: "ALICE" }),
        errors.consumers.get("bob"),
        errors.keys.get("alice", "key_x"),
        errors.keys.create("alice", { key: "a-value-that-is-taken" }),
        client.account("other").keyBucket("errors").consumers.list(),
        reader.consumers.create({ name: "bob" }),
        unauthenticated.consumers.list(),
        getBucket({ baseUrl: "http://127.0.0.1:1" }).consumers.list(),
        getBucket({ baseUrl: `${baseUrl}/wrong-path` }).consumers.list()
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
      "ServerUnreachable",
      "ServerUnreachable"
    ])
  })

  it("times out when the server does not respond", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1")
    await once(silent, "listening")
    const address = silent.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const error = getError(
        createClient({ baseUrl: `http://127.0.0.1:${port}`, token })
          .account("acme")
          .meteringBuckets.list()
      )
      await once(silent, "request")
      await vi.advanceTimersByTimeAsync(30_000)
      expect(await error).toMatchObject({ _tag: "ServerUnreachable", outcome: "not-applied" })
    } finally {
      vi.useRealTimers()
      silent.close()
      silent.closeAllConnections()
    }
  })

  it("reports malformed keys as invalid without a request", async () => {
    for (const key of [undefined, null, 5, "\ud800", "a\u0000b"]) {
      const malformedKey = key as unknown as string
      expect(await acme.keyBucket("errors").verify(malformedKey)).toEqual({ valid: false, reason: "invalid" })
    }
  })

  it("validates its options", () => {
    expect(() => createClient({ baseUrl: "nowhere", token })).toThrow("baseUrl: must be an HTTP(S) URL")
    expect(() => createClient({ baseUrl, token: "" })).toThrow("token: must be a management token")
  })

  it("rejects names that a URL cannot contain, as in process, and sends nothing", async () => {
    for (const account of [acme, local]) {
      const { deployments } = account.project("web")
      const { consumers } = account.keyBucket("production")
      for (const name of ["", ".", "..", "\ud800", undefined as never, 5 as never]) {
        for (const call of [
          deployments.get(name),
          deployments.status(name),
          consumers.get(name),
          consumers.remove(name)
        ]) {
          expect(await getError(call)).toMatchObject({ _tag: "InvalidInput", status: 400 })
        }
        expect(() => account.meteringBucket(name)).toThrow("meteringBucketId: must be ")
      }
      expect(await getError(consumers.get("a/../b"))).toMatchObject({ _tag: "ConsumerNotFound", consumer: "a/../b" })
    }
  })

  it("finds a metering bucket by its name, the same as in process", async () => {
    const buckets = [acme, local].map((account) => account.meteringBucket("by-name"))
    for (const bucket of buckets) expect((await bucket.plans.list()).data).toEqual([])
    expect(buckets[0]?.id).toBe(buckets[1]?.id)
    const unknown = `bckt_${"0".repeat(24)}`
    expect(await getError(acme.meteringBucket(unknown).plans.list())).toMatchObject({ _tag: "MeteringBucketNotFound" })
  })

  it("uploads and deploys, with the HTTP API mounted at a prefix", async () => {
    const [web, localWeb] = [acme.project("web"), local.project("web")]
    const { uploadUrl } = await web.deployments.createSource({ branchName: "main" })
    expect(uploadUrl.startsWith(`${baseUrl}/v1/uploads/`)).toBe(true)
    const archive = new TextEncoder().encode("an archive")
    const large = new Uint8Array(1001)
    expect(await getError(web.deployments.upload(uploadUrl, large))).toMatchObject({
      _tag: "PayloadTooLarge",
      maxBytes: 1000
    })
    const empty = await getError(web.deployments.upload(uploadUrl, new Uint8Array()))
    expect(empty).toMatchObject({ _tag: "InvalidInput" })
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(archive)
        controller.close()
      }
    })
    const { id, bytes } = await web.deployments.upload(uploadUrl, stream)
    expect(bytes).toBe(10)
    expect(await getError(web.deployments.upload(uploadUrl, archive))).toMatchObject({ _tag: "AlreadyUploaded" })
    expect(await getError(web.deployments.upload(`${uploadUrl}0`, archive))).toMatchObject({ _tag: "UploadForbidden" })
    const status = await eventually(async () => {
      const status = await web.deployments.status(id)
      expect(status.status).toBe("SUCCESS")
      return status
    })
    expect(status).toEqual(await localWeb.deployments.status(id))
    expect(await (await fetch(status.url)).text()).toBe("an archive")
    const redirected = await fetch(status.url.replace(/\/$/, ""))
    expect(redirected.url).toBe(status.url)
    const { data } = await web.deployments.list()
    expect(data).toEqual((await localWeb.deployments.list()).data)
    const name = data[0]?.name ?? ""
    expect(await web.deployments.get(name)).toEqual(await localWeb.deployments.get(name))
    expect(await web.deployments.rollback(name, { version: id })).toEqual(data[0])
    expect(await web.deployments.promote(name)).toEqual(data[0])
    const version = "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690"
    expect(await getError(web.deployments.rollback(name, { version }))).toMatchObject({
      _tag: "ReleaseNotKept",
      version
    })
    expect(await getError(web.deployments.promote(name, { version }))).toMatchObject({
      _tag: "ReleaseNotKept",
      version
    })
    expect(await web.deployments.deploy(name, { idempotencyKey: "again" })).toEqual({ status: "request enqueued" })
    await web.deployments.remove(name)
    expect(await getError(web.deployments.get(name))).toMatchObject({
      _tag: "DeploymentNotFound",
      deployment: name
    })
    expect(await getError(web.deployments.status(id))).toMatchObject({ _tag: "StatusNotFound" })
  })
})
