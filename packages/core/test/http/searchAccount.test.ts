/**
 * The search in an account, over core and modules; and what support does with it.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { Store, type StoreOperations } from "@tollgate/store"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Gate, withAllModules } from "../allModules.ts"
import { secret, stores } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const permissions = ["consumers:read", "keys:read", "metering:read", "deployments:read", "tokens:read"]
const limitedTokens = [...permissions, "webhooks:read"].map((permission) => ({
  token: `only-${permission.replace(":", "-")}-0123456789abcdef`,
  account: "*",
  permissions: [permission]
}))
const adminToken = "an-administrator-0123456789abcdef"
const otherToken = "another-account-0123456789abcdef"

interface Item {
  readonly type: string
  readonly id: string
  readonly matched: string
}

let count = 0
const freshAccount = () => `searched-${++count}`

describe.each(stores)("the search in an account, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  let gate: Gate
  let call: Client
  const open = () =>
    createTollgate({
      store,
      secret,
      ...withAllModules(),
      tokens: [
        { token: adminToken, account: "*", permissions: ["admin"] },
        { token: otherToken, account: "other" },
        ...limitedTokens
      ]
    })
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    gate = await open()
    call = makeClient(gate.handler)
  })
  afterAll(async () => {
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const find = async (account: string, text: string, token = adminToken): Promise<ReadonlyArray<Item>> => {
    const path = `/v1/accounts/${account}/search?q=${encodeURIComponent(text)}`
    const { status, body } = await call("GET", path, { token })
    expect(status, JSON.stringify(body)).toBe(200)
    return body.data
  }

  const setUp = async (account: string) => {
    const handle = gate.account(account)
    const { apiKeys } = await handle
      .keyBucket("production")
      .consumers.create({ name: "acme-shop", managers: ["jane@acme.example"], apiKeys: [{}] })
    await handle.keyBucket("test").consumers.create({ name: "acme-shop" })
    const meteringBucket = await handle.meteringBuckets.ensure("usage")
    const plan = await meteringBucket.plans.create({
      label: "Gold for Acme",
      planExternalId: "gold",
      meters: { requests: { max: 10 } }
    })
    const subscription = await meteringBucket.subscriptions.create({
      customerKey: "acme-shop",
      subscriptionExternalId: "sub_acme1",
      customerExternalId: "cus_9",
      planExternalIds: ["gold"]
    })
    const { deployments } = handle.project("acme-site")
    const { uploadUrl } = await deployments.createSource({ branchName: "main" })
    await deployments.upload(uploadUrl, new TextEncoder().encode("a source"))
    const token = await handle.tokens.create({ description: "Acme CI", permissions: ["consumers:read"] })
    return { key: apiKeys?.[0], bucketId: meteringBucket.id, plan, subscription, token }
  }

  it("finds everything that core and modules have, the best of each type first", async () => {
    const account = freshAccount()
    const { key, bucketId: meteringBucketId, plan, subscription, token } = await setUp(account)
    await expect
      .poll(async () => (await find(account, "acme")).map(({ type }) => type).toSorted())
      .toEqual(["consumer", "consumer", "customer", "deployment", "plan", "token"])
    const found = await find(account, "acme")
    expect(found.slice(0, 2)).toEqual([
      expect.objectContaining({ type: "consumer", name: "acme-shop", keyBucketName: "test", matched: "name" }),
      expect.objectContaining({ type: "consumer", name: "acme-shop", keyBucketName: "production", matched: "name" })
    ])
    expect(found).toContainEqual({
      type: "customer",
      id: "acme-shop",
      meteringBucketId,
      matched: "customerKey"
    })
    expect(found).toContainEqual({ type: "plan", id: plan.id, name: plan.label, meteringBucketId, matched: "label" })
    expect(found).toContainEqual({ type: "token", id: token.id, name: "Acme CI", matched: "description" })
    for (const [text, matched] of [
      ["SUB_acme", "subscriptionExternalId"],
      ["cus_9", "customerExternalId"],
      [subscription.id, "id"]
    ] as const) {
      expect(await find(account, text)).toEqual([
        { type: "subscription", id: subscription.id, name: "sub_acme1", meteringBucketId, matched }
      ])
    }
    const ofKey = { type: "key", id: key?.id, name: "acme-shop", keyBucketName: "production" }
    expect(await find(account, key?.key?.slice(-4) ?? "")).toContainEqual({ ...ofKey, matched: "suffix" })
    expect(await find(account, key?.id ?? "")).toEqual([{ ...ofKey, matched: "id" }])
    expect(await find(account, "jane@")).toMatchObject([{ type: "consumer", matched: "managerInvites" }])
    expect(await find(account, "nothing")).toEqual([])

    const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, token: adminToken })
    for (const { data } of [await gate.account(account).search("gold"), await client.account(account).search("gold")]) {
      expect(data).toMatchObject([{ type: "plan", id: plan.id, matched: "planExternalId" }])
    }
    server.close()
  })

  it("shows callers what their permissions allow, and accounts only what is theirs", async () => {
    const [account, neighbour] = [freshAccount(), freshAccount()]
    const { key } = await setUp(account)
    await gate.account(neighbour).keyBucket("production").consumers.create({ name: "neighbour" })
    await expect.poll(async () => (await find(account, "acme")).map(({ type }) => type)).toContain("deployment")
    const typesOf = async (token: string) => {
      const found = [...(await find(account, "acme", token)), ...(await find(account, key?.id ?? "", token))]
      return [...new Set(found.map(({ type }) => type))].toSorted()
    }
    const expected = [["consumer"], ["key"], ["customer", "plan"], ["deployment"], ["token"], []]
    for (const [index, { token }] of limitedTokens.entries()) expect(await typesOf(token)).toEqual(expected[index])
    for (const text of ["acme", key?.id ?? ""]) expect(await find(neighbour, text)).toEqual([])
    const path = `/v1/accounts/${account}/search?q=acme`
    expect((await call("GET", path, { token: otherToken })).status).toBe(403)
    expect((await call("GET", path, { token: null })).status).toBe(401)
  })

  it("returns at most 20, some of each type, and refuses texts of other lengths", async () => {
    const account = freshAccount()
    const { consumers } = gate.account(account).keyBucket("production")
    for (let index = 0; index < 30; index++) await consumers.create({ name: `many-${index}` })
    const meteringBucket = await gate.account(account).meteringBuckets.ensure("usage")
    await meteringBucket.plans.create({ label: "manyfold", planExternalId: "p", meters: { requests: { max: 1 } } })
    const found = await find(account, "man")
    expect(found.length).toBe(20)
    expect(found[1]?.type).toBe("plan")
    for (const query of ["", "?q=", "?q=a", `?q=${"x".repeat(33)}`, "?q=acme&q=acme", "?search=acme", "?q=%00%00"]) {
      const { status, body } = await call("GET", `/v1/accounts/${account}/search${query}`, { token: adminToken })
      expect([status, body.code], query).toEqual([400, "bad-request"])
    }
  })

  it("answers a customer: the refused request, the key by its end, the consumer by e-mail and by part of its name", async () => {
    const account = freshAccount()
    const bucket = `/v1/accounts/${account}/key-buckets/production`
    const asAdmin = { token: adminToken }
    const body = { name: "acme-shop-eu", managers: ["jane@acme.example"], apiKeys: [{}, {}] }
    const created = await call("POST", `${bucket}/consumers`, { ...asAdmin, body })
    const [{ id, key }] = created.body.apiKeys
    for (const name of ["other-shop", "globex"]) {
      await call("POST", `${bucket}/consumers?with-api-key=true`, { ...asAdmin, body: { name } })
    }
    await call("PATCH", `${bucket}/consumers/acme-shop-eu/keys/${id}`, { ...asAdmin, body: { disabled: true } })
    const headers = { "x-request-id": "req-of-jane" }
    const refused = await call("POST", `${bucket}/authorize`, { ...asAdmin, body: { key }, headers })
    expect(refused.body).toMatchObject({ allowed: false, status: 401 })

    // Closing writes what this process has noted.
    await gate.close()
    gate = await open()
    call = makeClient(gate.handler)
    const decisions = await call("GET", `${bucket}/decisions?requestId=req-of-jane`, asAdmin)
    expect(decisions.body.data).toMatchObject([{ reason: "disabled-key", keyId: id, consumerName: "acme-shop-eu" }])
    expect(await find(account, key.slice(-4))).toContainEqual({
      type: "key",
      id,
      name: "acme-shop-eu",
      keyBucketName: "production",
      matched: "suffix"
    })
    for (const text of ["jane@acme.example", "jane", "shop-", "eu", key.slice(-4), id]) {
      const found = await call("GET", `${bucket}/consumers?search=${encodeURIComponent(text)}`, asAdmin)
      const names = found.body.data.map(({ name }: { name: string }) => name)
      if (text === "shop-") expect(names).toEqual([])
      else expect(names, text).toEqual(["acme-shop-eu"])
    }
    const shops = await call("GET", `${bucket}/consumers?search=shop`, asAdmin)
    expect(shops.body.data.map(({ name }: { name: string }) => name)).toEqual(["other-shop", "acme-shop-eu"])
    const [found] = (await call("GET", `${bucket}/consumers?search=jane`, asAdmin)).body.data
    expect(found.name).toBe("acme-shop-eu")

    await call("PATCH", `${bucket}/consumers/acme-shop-eu/keys/${id}`, { ...asAdmin, body: { disabled: false } })
    const allowed = await call("POST", `${bucket}/authorize`, { ...asAdmin, body: { key } })
    expect(allowed.body.allowed).toBe(true)
  })
})
