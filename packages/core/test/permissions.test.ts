/**
 * Permissions: each operation needs one, and a credential that has it may call the operation, and no other.
 */
import { ConfigurationError, createTollgate, type TollgateOptions } from "@tollgate/core"
import { defineModule } from "@tollgate/core/module"
import { MemoryStore } from "@tollgate/memory"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { afterAll, describe, expect, it } from "vitest"
import { Authenticated } from "../src/api/Authenticated.ts"
import { listPermissions } from "../src/api/listPermissions.ts"
import { Owner } from "../src/api/Owner.ts"
import { descriptions, withAllModules } from "./allModules.ts"
import { readLog } from "./eventGates.ts"
import { makeClient } from "./http/client.ts"
import { secret } from "./stores.ts"

const needed = listPermissions(descriptions)
const withPermission = descriptions.flatMap((description) =>
  description.permission === undefined ? [] : [{ ...description, permission: description.permission }]
)

/** A token for each set of permissions, and one gate that knows them all. */
const grants = {
  ...Object.fromEntries(needed.map((permission) => [permission, [permission]])),
  "keys:reveal": ["keys:reveal", "keys:read"],
  "keys:*": ["keys:*"],
  viewer: ["viewer"],
  support: ["support"],
  admin: ["admin"],
  "*": ["*"],
  none: []
} as Readonly<Record<string, ReadonlyArray<string>>>
const toToken = (name: string) => `token-with-permission-${name.replaceAll(/[:*]/g, ".")}-for-tests`
const gate = await createTollgate({
  store: MemoryStore.open(),
  secret,
  ...withAllModules(),
  metrics: true,
  tokens: [
    ...Object.entries(grants).map(([name, permissions]) => ({ token: toToken(name), account: "*", permissions })),
    { token: toToken("read"), account: "*", access: "read" },
    { token: toToken("write"), account: "*", access: "write" }
  ]
})
afterAll(() => gate.close())
const call = makeClient(gate.handler)

/** The status of an operation for a token; the parameters and the body need not be valid to be refused. */
const send = (name: string, { method, path }: { readonly method: string; readonly path: string }) =>
  call(method, path.replace(/:accountName/, "acme").replaceAll(/:\w+/g, "some-name"), { token: toToken(name) })

const isRefused = async (name: string, operation: (typeof withPermission)[number]): Promise<boolean> => {
  const { status, body } = await send(name, operation)
  if (status === 403) expect(body.permission).toBe(operation.permission)
  return status === 403
}

describe("permissions", () => {
  it("are declared by all operations that need a credential for more than themselves", () => {
    const without = descriptions.filter(({ permission }) => permission === undefined).map(({ id }) => id)
    expect(without).toEqual(["access.me", "search.find", "uploads.receive", "system.alive", "system.ready"])
    expect(needed).toEqual([
      "accounts:read",
      "authorize",
      "consumers:disable",
      "consumers:read",
      "consumers:write",
      "decisions:read",
      "deployments:read",
      "deployments:write",
      "events:read",
      "grants:write",
      "keys:disable",
      "keys:read",
      "keys:reveal",
      "keys:roll",
      "keys:write",
      "metering:read",
      "metering:write",
      "metrics:read",
      "portal:read",
      "portal:write",
      "subscriptions:write",
      "tokens:read",
      "tokens:write",
      "webhooks:read",
      "webhooks:write"
    ])
  })

  it.each(withPermission)(
    "$id is allowed by $permission, by write in its area, and by nothing else",
    async (operation) => {
      const [area] = operation.permission.split(":")
      // What is enough for some requests is refused only when the request is read.
      const narrow = Object.keys(operation.narrowPermissions)
      const allowing = Object.keys(grants).filter(
        (name) =>
          name === operation.permission ||
          narrow.includes(name) ||
          name === `${area}:write` ||
          name === `${area}:*` ||
          name === "*" ||
          name === "admin"
      )
      if (operation.permission.endsWith(":read")) {
        // Why requests were refused is not for everyone who may read.
        allowing.push("support", ...(area === "decisions" ? [] : ["viewer", "read"]))
      }
      if (area !== "tokens") allowing.push("write")
      if (narrow.length > 0 || ["keys:roll", "portal:write"].includes(operation.permission)) allowing.push("support")
      if (operation.permission === "authorize" && operation.isReadOnly) allowing.push("read")
      if (operation.permission === "keys:read") allowing.push("keys:reveal")
      for (const name of [...Object.keys(grants), "read", "write"]) {
        expect([name, await isRefused(name, operation)]).toEqual([name, !allowing.includes(name)])
      }
    }
  )

  it("to see the values of keys is one of its own", async () => {
    const bucket = gate.account("acme").keyBucket("production")
    await bucket.consumers.create({ name: "alice" }, { withApiKey: true })
    const path = "/v1/accounts/acme/key-buckets/production/consumers/alice/keys?key-format=visible"
    const statuses = await Promise.all(
      ["keys:read", "keys:write", "viewer", "read", "keys:reveal", "keys:*", "admin", "write", "*"].map(
        async (name) => (await call("GET", path, { token: toToken(name) })).status
      )
    )
    expect(statuses).toEqual([403, 403, 403, 403, 200, 200, 200, 200, 200])
    expect(await call("GET", path, { token: toToken("keys:read") })).toMatchObject({
      status: 403,
      body: { permission: "keys:reveal", detail: "This credential lacks the permission keys:reveal" }
    })
  })

  it("to read keys is needed to see them with their consumers, too", async () => {
    const consumers = "/v1/accounts/acme/key-buckets/production/consumers"
    for (const path of [consumers, `${consumers}/alice`]) {
      const read = (name: string, query = "") => call("GET", path + query, { token: toToken(name) })
      expect((await read("consumers:read")).status).toBe(200)
      expect(await read("consumers:read", "?include-api-keys=true")).toMatchObject({
        status: 403,
        body: { permission: "keys:read" }
      })
      expect((await read("viewer", "?include-api-keys=true")).status).toBe(200)
    }
  })

  it("to create keys is needed for a consumer with keys, too", async () => {
    const path = "/v1/accounts/acme/key-buckets/production/consumers"
    const requests = [
      [path, { name: "c1" }],
      [`${path}?with-api-key=true`, { name: "c2" }],
      [path, { name: "c3", apiKeys: [{}] }]
    ] as const
    for (const [name, statuses] of [
      ["consumers:write", [200, 403, 403]],
      ["admin", [409, 200, 200]]
    ] as const) {
      const responses = await Promise.all(
        requests.map(([path, body]) => call("POST", path, { token: toToken(name), body }))
      )
      expect([name, responses.map(({ status }) => status)]).toEqual([name, statuses])
      for (const { status, body } of responses) if (status === 403) expect(body.permission).toBe("keys:write")
    }
  })

  it("to disable, to roll and to change plans are enough for that alone", async () => {
    const account = gate.account("acme")
    const bucket = account.keyBucket("production")
    const { apiKeys } = await bucket.consumers.create({ name: "bob" }, { withApiKey: true })
    const { id } = await account.meteringBuckets.create({ name: "default" })
    const consumer = "/v1/accounts/acme/key-buckets/production/consumers/bob"
    const key = `${consumer}/keys/${apiKeys[0]?.id}`
    const subscription = `/v1/metering/${id}/subscriptions/sub_000000000000000000000000`
    const patch = async (name: string, path: string, body: object) => {
      const response = await call("PATCH", path, { token: toToken(name), body })
      return response.status === 403 ? response.body.permission : response.status
    }
    for (const [name, area, path] of [
      ["support", "keys", key],
      ["keys:disable", "keys", key]
    ] as const) {
      expect(await patch(name, path, { disabled: true })).toBe(200)
      expect(await patch(name, path, { disabled: null })).toBe(200)
      expect(await patch(name, path, { disabled: true, description: "x" })).toBe(`${area}:write`)
      expect(await patch(name, path, { description: "x" })).toBe(`${area}:write`)
      expect(await patch("viewer", path, { disabled: true })).toBe(`${area}:write`)
    }
    expect(await patch("keys:disable", consumer, { description: "x" })).toBe("consumers:write")
    expect(await patch("support", consumer, { description: "x" })).toBe("consumers:write")
    for (const name of ["support", "subscriptions:write", "metering:write"]) {
      expect(await patch(name, subscription, { planExternalIds: ["pro"] })).toBe(404)
    }
    expect(await patch("viewer", subscription, { planExternalIds: ["pro"] })).toBe("metering:write")
    const roll = (name: string) =>
      call("POST", `${consumer}/roll-key`, { token: toToken(name), body: { expiresOn: "2099-01-01T00:00:00Z" } })
    expect((await roll("support")).status).toBe(204)
    const withScopes = (name: string) =>
      call("POST", `${consumer}/roll-key`, {
        token: toToken(name),
        body: { expiresOn: "2099-01-01T00:00:00Z", scopes: ["*"] }
      })
    expect((await withScopes("support")).body).toMatchObject({ status: 403, permission: "keys:write" })
    expect((await withScopes("keys:write")).status).toBe(204)
    const rolled = await call("POST", `${consumer}/roll-key?key-format=visible`, {
      token: toToken("support"),
      body: { expiresOn: "2099-01-01T00:00:00Z" }
    })
    const one = await call("POST", `${consumer}/roll-key`, {
      token: toToken("support"),
      body: { expiresOn: "2099-01-01T00:00:00Z", keyId: rolled.body.id }
    })
    expect(one.status).toBe(204)
    expect(rolled).toMatchObject({ status: 200, body: { key: expect.stringMatching(/^tg_/) } })
    const visible = `/v1/accounts/acme/key-buckets/production/keys/${rolled.body.id}?key-format=visible`
    expect((await call("GET", visible, { token: toToken("support") })).body).toMatchObject({
      permission: "keys:reveal"
    })
    expect((await roll("keys:disable")).body).toMatchObject({ status: 403, permission: "keys:roll" })
    expect((await call("POST", `${consumer}/keys`, { token: toToken("support"), body: {} })).status).toBe(403)
  })

  it("are needed for the metrics", async () => {
    const names = ["consumers:read", "none", "keys:*", "viewer", "read", "write", "*"]
    const responses = names.map(async (name) => (await call("GET", "/metrics", { token: toToken(name) })).status)
    expect(await Promise.all(responses)).toEqual([403, 403, 403, 200, 200, 200, 200])
  })

  it("are told to the caller", async () => {
    expect((await call("GET", "/v1/me", { token: toToken("keys:*") })).body).toMatchObject({
      accountName: "*",
      access: "write",
      permissions: ["keys:*"]
    })
    expect((await call("GET", "/v1/me", { token: toToken("viewer") })).body).toMatchObject({ access: "read" })
    expect((await call("GET", "/v1/me", { token: toToken("read") })).body).not.toHaveProperty("permissions")
  })

  it("come with a name, which events and the caller see", async () => {
    const [token, store] = [toToken("named"), MemoryStore.open()]
    const named = await createTollgate({
      store,
      secret,
      tokens: [{ token, account: "acme", permissions: ["consumers:*", "events:read"], name: "Ann of billing" }]
    })
    const call = makeClient(named.handler)
    expect((await call("GET", "/v1/me", { token })).body).toMatchObject({ name: "Ann of billing" })
    await call("POST", "/v1/accounts/acme/key-buckets/production/consumers", { token, body: { name: "alice" } })
    const [event] = await readLog(store, named, "acme")
    expect(event?.actor).toEqual({ type: "token", id: expect.any(String), name: "Ann of billing" })
    await named.close()
  })

  it("can be given by authenticate, instead of access", async () => {
    const open = (principal: object) =>
      createTollgate({
        store: MemoryStore.open(),
        secret,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
        authenticate: () => ({ id: "me", account: "acme", ...principal })
      })
    const path = "/v1/accounts/acme/key-buckets/production/consumers"
    for (const [principal, statuses] of [
      [{ permissions: ["consumers:read"] }, [200, 403]],
      [{ permissions: ["consumers:write"] }, [200, 200]],
      [{ permissions: [] }, [403, 403]],
      [{ access: "read" }, [200, 403]],
      [{ access: "read", permissions: ["*"] }, [401, 401]],
      [{ permissions: "*" }, [401, 401]],
      [{ permissions: ["Consumers"] }, [401, 401]],
      [{}, [401, 401]]
    ] as const) {
      const gate = await open(principal)
      const call = makeClient(gate.handler)
      const create = await call("POST", path, { body: { name: "alice" } })
      expect([principal, (await call("GET", path)).status, create.status]).toEqual([principal, ...statuses])
      await gate.close()
    }
  })

  it.each<readonly [problem: string, token: object]>([
    ["tokens[0].permissions: excludes access", { access: "read", permissions: ["*"] }],
    ["tokens[0].permissions: must be an array of at most 100 permissions", { permissions: "*" }],
    ["tokens[0].permissions: must be an array of at most 100 permissions", { permissions: ["Keys:Write"] }],
    ["tokens: nothing needs the permission consumer:write", { permissions: ["keys:read", "consumer:write"] }],
    ["tokens: nothing needs the permission webhooks:read", { permissions: ["webhooks:read"] }]
  ])("of a token that are wrong are a ConfigurationError: %s", async (problem, token) => {
    const tokens = [{ token: toToken("wrong"), account: "acme", ...token }] as TollgateOptions["tokens"]
    const opening = createTollgate({ store: MemoryStore.open(), secret, tokens })
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(problem)
  })

  it("must be declared: a module with an operation that has none does not start", async () => {
    const group = HttpApiGroup.make("open")
      .add(HttpApiEndpoint.get("get", "/v1/open", { success: Schema.String }))
      .middleware(Authenticated)
      .annotate(Owner, "all-accounts")
    const opening = createTollgate({
      store: MemoryStore.open(),
      secret,
      modules: [defineModule({ name: "open", groups: () => [group] })]
    })
    await expect(opening).rejects.toThrow("it needs no permission: annotate its group with Area")
  })
})
