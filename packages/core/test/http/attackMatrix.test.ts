/**
 * Every operation with every kind of credential, over HTTP and in process. What may happen follows from the declarations, so
 * an operation that is added is tested without a change here.
 */
import { gzipSync } from "node:zlib"
import { adminConsole, type ConsoleModule } from "@tollgate/console"
import { createTollgate, isTollgateError, type TollgateOptions } from "@tollgate/core"
import { decisions } from "@tollgate/decisions"
import { MemoryStore } from "@tollgate/memory"
import { customerPortal } from "@tollgate/portal"
import type { StoreOperations } from "@tollgate/store"
import { tokens } from "@tollgate/tokens"
import { webhooks } from "@tollgate/webhooks"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { listPermissions } from "../../src/api/listPermissions.ts"
import { type AllModules, descriptions, memoryDeployments } from "../allModules.ts"
import { readLog } from "../eventGates.ts"
import { getMethods } from "../methodsOfHandles.ts"
import { secret } from "../stores.ts"

/** In everything that the account acme has. */
const marker = "only-acme-may-see-this"
/** What a customer may choose, too. */
const offer = { name: "Pro", planExternalIds: ["pro"] }

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly owner: string
  readonly permission: string | undefined
  readonly isReadOnly: boolean
  readonly mediaType?: string | undefined
}

const operations: ReadonlyArray<Operation> = [
  ...descriptions.filter(({ isAuthenticated }) => isAuthenticated),
  {
    id: "metrics",
    method: "GET",
    path: "/metrics",
    owner: "all-accounts",
    permission: "metrics:read",
    isReadOnly: true
  }
]

const known = listPermissions(descriptions)
const areas = [...new Set(known.map((permission) => permission.split(":")[0] ?? ""))]

/** What a permission, a role or an access includes, spelled out. */
const expand = (granted: string): ReadonlyArray<string> => {
  const plainReads = known.filter((name) => name.endsWith(":read") && name !== "decisions:read")
  const supportWork = ["disable", "roll"].map((action) => `:${action}`)
  const more = ["decisions:read", "grants:write", "portal:write", "subscriptions:write"]
  const [area, action] = granted.split(":")
  const ofArea = known.filter((name) => name.split(":")[0] === area)
  switch (granted) {
    case "viewer":
      return plainReads
    case "support":
      return known.filter(
        (name) => plainReads.includes(name) || more.includes(name) || supportWork.some((end) => name.endsWith(end))
      )
    case "admin":
    case "*":
      return known
    case "access read":
      return [...plainReads, "authorize"]
    case "access write":
      return known.filter((name) => !name.startsWith("tokens:"))
  }
  if (action === "*") return ofArea
  return action === "write" ? ofArea.filter((name) => !name.endsWith(":reveal")) : [granted]
}

const grants = [...known, ...areas.map((area) => `${area}:*`), "*", "viewer", "support", "admin"]
const accesses = ["access read", "access write"]

/** What is enough for the requests of this test, and what they need beside the permission of the operation. */
const alsoEnough: Readonly<Record<string, string>> = {
  "subscriptions.update": "subscriptions:write",
  "customers.changePlan": "subscriptions:write",
  "customers.cancel": "subscriptions:write",
  "customers.withdrawPendingChange": "subscriptions:write",
  "grants.create": "grants:write",
  "grants.void": "grants:write"
}
const alsoNeeded: Readonly<Record<string, ReadonlyArray<string>>> = {
  "consumers.create": ["keys:write", "metering:write"],
  "tokens.create": ["deployments:write"],
  "tokens.update": ["deployments:write"]
}

interface Caller {
  readonly label: string
  readonly account: "acme" | "other" | "*"
  readonly granted: string
  /** The headers of a credential that works. */
  readonly open: () => Promise<Record<string, string>>
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const toStaticToken = (account: string, granted: string) =>
  `static-${account}-${granted}-token-for-tests`.replaceAll(/[*: ]/g, ".")
const staticTokens = ["acme", "other", "*"].flatMap((account) => [
  ...grants.map((granted) => ({ token: toStaticToken(account, granted), account, permissions: [granted] })),
  { token: toStaticToken(account, "access read"), account, access: "read" as const },
  { token: toStaticToken(account, "access write"), account, access: "write" as const },
  { token: toStaticToken(account, "nothing"), account, permissions: [] }
])

/** What is written, apart from background work and from when credentials were last used. */
const watchWrites = (store: StoreOperations) => {
  const writes: Array<string> = []
  const commit: StoreOperations["commit"] = (partition, changes, ...rest) => {
    const kept = changes.filter((change) => !("counter" in change && change.counter.startsWith("used:")))
    if (kept.length > 0 && !partition.startsWith("jobs")) writes.push(`${partition} ${JSON.stringify(kept)}`)
    return store.commit(partition, changes, ...rest)
  }
  return { store: { ...store, commit }, writes }
}

const { store, writes } = watchWrites(MemoryStore.open())
const open = (options: Partial<Omit<TollgateOptions, "modules">> = {}, on: StoreOperations = store) =>
  createTollgate<AllModules | ConsoleModule>({
    store: on,
    secret,
    publicUrl: "http://gate",
    metrics: true,
    limits: { tokensPerAccount: 10_000 },
    ...options,
    modules: [
      decisions(),
      memoryDeployments(),
      tokens(),
      webhooks({ allowPrivateNetworks: true }),
      adminConsole(),
      customerPortal({ meteringBucket: marker, plans: [offer], onPlanChange: () => ({ url: "/upgrade" }) })
    ]
  })
/** With static tokens, and with principals that `authenticate` of the host finds in a header. */
const gate = await open({ tokens: staticTokens })
const hostGate = await open({
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  authenticate: async (request) => JSON.parse(request.headers.get("x-principal") ?? "null")
})
const acme = gate.account("acme")

const request = (to: typeof gate, method: string, path: string, headers: object, body?: unknown) =>
  to.handler(
    new Request(`http://gate${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined || method === "GET" ? {} : { body: JSON.stringify(body) })
    })
  )

const readJson = async (response: Response) => (await response.json()) as Record<string, string>

const signIn = async (options: Parameters<typeof gate.createConsoleLink>[0]): Promise<string> => {
  const { url } = await gate.createConsoleLink(options)
  const code = new URL(url).hash.replace("#code=", "")
  return (await readJson(await request(gate, "POST", "/console/session", {}, { code })))["token"] ?? ""
}

const makeCallers = (account: Caller["account"], granted: string): ReadonlyArray<Caller> => {
  const options = granted.startsWith("access ")
    ? { access: granted === "access read" ? ("read" as const) : ("write" as const) }
    : { permissions: granted === "nothing" ? [] : [granted] }
  const principal = { id: "a-principal", account, ...options }
  const caller = (way: string, open: Caller["open"]) => ({
    label: `${way} ${account} ${granted}`,
    account,
    granted,
    open
  })
  const fixed = caller("static", async () => bearer(toStaticToken(account, granted)))
  // Every kind of credential has every role, and one kind every single permission.
  if (granted.includes(":")) return [fixed]
  const callers = [
    fixed,
    caller("session", async () => bearer(await signIn({ account, ...options }))),
    caller("principal", async () => ({ "x-principal": JSON.stringify(principal) }))
  ]
  if (account === "*" || "access" in options || granted === "nothing") return callers
  const create = async () => {
    const input = { description: granted, permissions: [granted] }
    return bearer((await gate.account(account).tokens.create(input)).token)
  }
  return [...callers, caller("token", create)]
}

/** Values of the parameters in paths, all of acme. */
const ids: Record<string, string> = {
  accountName: "acme",
  bucketName: "production",
  consumerName: "alice",
  projectName: "web"
}
let apiKey = ""
let examples: Readonly<Record<string, unknown>> = {}

const setUp = async (): Promise<void> => {
  const { consumers } = acme.keyBucket("production")
  const { apiKeys } = await consumers.create({ name: "alice", description: marker }, { withApiKey: true })
  apiKey = apiKeys[0]?.key ?? ""
  const billing = await acme.meteringBuckets.ensure(marker)
  const plan = await billing.plans.create({ label: marker, planExternalId: "pro", meters: { requests: { max: 1e6 } } })
  const subscription = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
  const grant = await billing.customer("alice").grants.create({ meter: "requests", amount: 1, reason: marker })
  const alert = await billing.customer("alice").alerts.create({ meter: "requests", when: { used: 1 } })
  const webhook = await acme.webhooks.create({ url: "http://127.0.0.1:9/hook", description: marker })
  const target = await acme.tokens.create({ description: marker, permissions: ["deployments:write"] })
  await signIn({ account: "acme", name: marker })
  await signIn({ account: "*", name: marker })
  const { data: sessions } = await acme.sessions.list()
  const body = { accountName: "acme", projectName: "web", branchName: "main" }
  const headers = bearer(toStaticToken("acme", "*"))
  const { uploadUrl = "" } = await readJson(await request(gate, "POST", "/v1/deployments/sources", headers, body))
  const { pathname, search } = new URL(uploadUrl)
  const archive = new Uint8Array(gzipSync(Buffer.alloc(1_024)))
  const uploaded = new Request(`http://gate${pathname}${search}`, { method: "PUT", body: archive })
  expect((await gate.handler(uploaded)).status).toBe(200)
  const { data: deployments } = await acme.project("web").deployments.list()
  Object.assign(ids, {
    keyId: apiKeys[0]?.id,
    bucketId: billing.id,
    planId: plan.id,
    subscriptionId: subscription.id,
    grantId: grant.id,
    alertId: alert.id,
    webhookId: webhook.id,
    tokenId: target.id,
    sessionId: sessions[0]?.id,
    deploymentName: deployments[0]?.name,
    statusId: pathname.split("/").at(-1)?.replace(".tar.gz", "")
  })
  const description = (await (await request(gate, "GET", "/v1/openapi.json", {})).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  }
  examples = Object.fromEntries(
    Object.values(description.paths)
      .flatMap((path) => Object.values(path))
      .map(({ operationId, requestBody }) => [operationId, Object.values(requestBody?.content ?? {})[0]?.example])
  )
}

interface OpenApiOperation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown } | undefined>> }
}

const overrides: Readonly<Record<string, object>> = {
  "consumers.create": {
    name: "bob",
    apiKeys: [{}],
    subscription: { meteringBucket: marker, planExternalIds: ["pro"] }
  },
  "webhooks.create": { url: "http://127.0.0.1:9/hook" },
  "webhooks.update": { description: "d" },
  "keys.update": { description: "d" }
}

/** Parameters that requests must have. */
const queries: Readonly<Record<string, string>> = {
  "search.find": `?q=${marker}`,
  "usage.top": "?meter=requests",
  "usage.export": "?month=2026-11"
}

const toPath = ({ id, path }: Operation) =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? "some-name") + (queries[id] ?? "")
const toBody = ({ id, owner }: Operation): object | undefined => {
  const body = overrides[id] ?? examples[id]
  const isObject = typeof body === "object" && body !== null
  if (owner !== "request") return isObject ? body : undefined
  return { ...(isObject ? body : {}), accountName: "acme" }
}

const send = async (caller: Pick<Caller, "label">, headers: object, operation: Operation) => {
  const to = caller.label.startsWith("principal") ? hostGate : gate
  const { mediaType } = operation
  const sent = { ...headers, ...(mediaType === undefined ? {} : { "content-type": mediaType }) }
  const response = await request(to, operation.method, toPath(operation), sent, toBody(operation))
  return { status: response.status, text: await response.text() }
}

/** The permission that the caller lacks; `undefined` if it lacks none. */
const findLacking = ({ granted }: Caller, { id, permission, isReadOnly }: Operation): string | undefined => {
  if (granted === "access read" && !isReadOnly) return permission
  const has = granted === "nothing" ? [] : expand(granted)
  const enough = [permission, alsoEnough[id]].filter((name) => name !== undefined)
  if (permission !== undefined && !enough.some((name) => has.includes(name))) return permission
  return alsoNeeded[id]?.find((needed) => !has.includes(needed))
}

const isForAccount = ({ account }: Caller, { owner }: Operation): boolean => owner !== "all-accounts" || account === "*"

/** A credential for all accounts is checked for acme as one for acme is. */
const operationsFor = ({ account }: Caller) =>
  operations.filter(({ owner, path }) => account !== "*" || !path.includes(":") || owner === "all-accounts")

const callersOf = (account: Caller["account"]) =>
  [...grants, ...accesses, "nothing"].flatMap((granted) => makeCallers(account, granted))

const counts: Record<string, number> = {}
const failures: Array<string> = []
/** Counts a cell of the matrix. An assertion for each would take longer than its request. */
const check = (kind: string, who: string, { id }: Pick<Operation, "id">, isRight: boolean, found: unknown) => {
  counts[kind] = (counts[kind] ?? 0) + 1
  if (!isRight) failures.push(`${kind}: ${id} by ${who}: ${JSON.stringify(found)}`)
}
const expectAllRight = () => expect(failures.splice(0).slice(0, 20)).toEqual([])

beforeAll(async () => {
  await setUp()
  await readLog(store, gate, "acme")
})
afterAll(async () => {
  console.log(
    `${operations.length} operations, ${grants.length + accesses.length + 1} grants: ${JSON.stringify(counts)}`
  )
  await gate.close()
  await hostGate.close()
})

/** Runs requests that must write nothing. */
const expectNoWrites = async (attack: () => Promise<void>): Promise<void> => {
  const before = writes.length
  await attack()
  expectAllRight()
  expect(writes.slice(before)).toEqual([])
}

describe("the matrix", { timeout: 300_000 }, () => {
  it("has real resources", () => {
    expect(Object.values(ids)).not.toContain(undefined)
    expect(operations.length).toBeGreaterThan(55)
    expect(known.length).toBeGreaterThan(20)
  })

  it("lets nobody in without a credential that is valid now", async () => {
    const input = { description: "x", permissions: ["*"] }
    const { tokens: acmeTokens, sessions } = acme
    const revoked = await acmeTokens.create(input)
    await acmeTokens.remove(revoked.id)
    const openPortal = (options = {}) => acme.portalSessions.create("production", "alice", options)
    const revokedPortal = await openPortal()
    await acme.portalSessions.remove("production", "alice", revokedPortal.id)
    const { consumers } = acme.keyBucket("production")
    await consumers.create({ name: "disabled" })
    const disabledPortal = await acme.portalSessions.create("production", "disabled")
    await consumers.update("disabled", { disabled: true })
    const expired = await acmeTokens.create({ ...input, expiresOn: "2020-01-01T00:00:00Z" })
    const expiredLater = await acmeTokens.create(input)
    expect((await request(gate, "GET", "/v1/me", bearer(expiredLater.token))).status).toBe(200)
    await acmeTokens.update(expiredLater.id, { expiresOn: "2020-01-01T00:00:00Z" })
    const findSession = async (name: string) => {
      for await (const session of sessions.list()) if (session.name === name) return session.id
      return ""
    }
    const revokedSession = await signIn({ account: "acme", name: "revoked", permissions: ["*"] })
    expect((await request(gate, "GET", "/v1/me", bearer(revokedSession))).status).toBe(200)
    await sessions.remove(await findSession("revoked"))
    const endedSession = await signIn({ account: "acme", permissions: ["*"], expiresIn: 1 })
    const unusedCode = new URL((await gate.createConsoleLink({ permissions: ["*"] })).url).hash.slice("#code=".length)
    const usedCode = new URL((await gate.createConsoleLink({ permissions: ["*"] })).url).hash.slice("#code=".length)
    await request(gate, "POST", "/console/session", {}, { code: usedCode })
    // Has the secret, and not the database.
    const thief = await open({}, MemoryStore.open())
    const forgedToken = (await thief.account("acme").tokens.create(input)).token
    const forgedCode = new URL((await thief.createConsoleLink({ permissions: ["*"] })).url).hash.slice("#code=".length)
    const forged = await request(thief, "POST", "/console/session", {}, { code: forgedCode })
    const forgedSession = (await readJson(forged))["token"] ?? ""
    expect((await request(thief, "GET", "/v1/me", bearer(forgedSession))).status).toBe(200)
    await thief.close()
    const right = toStaticToken("*", "*")
    const credentials: Readonly<Record<string, Record<string, string>>> = {
      "no token": {},
      "an empty token": { authorization: "Bearer " },
      "a wrong token": bearer("a-wrong-token-of-some-length"),
      "the beginning of a token": bearer(right.slice(0, -1)),
      "a token without Bearer": { authorization: right },
      "a token as Basic": { authorization: `Basic ${btoa(`${right}:`)}` },
      "a token in a cookie": { cookie: `token=${right}` },
      "two tokens": { authorization: `Bearer ${right} ${right}` },
      "an API key": bearer(apiKey),
      "a revoked token": bearer(revoked.token),
      "an expired token": bearer(expired.token),
      "a token that expired by a change": bearer(expiredLater.token),
      "a token with another kind": bearer(revoked.token.replace("tgm", "tgs")),
      "a revoked portal session": bearer(revokedPortal.token),
      "a portal session of a disabled consumer": bearer(disabledPortal.token),
      "a revoked session": bearer(revokedSession),
      "an ended session": bearer(endedSession),
      "the code of a link": bearer(unusedCode),
      "the used code of a link": bearer(usedCode),
      "a token forged with the secret": bearer(forgedToken),
      "a session forged with the secret": bearer(forgedSession),
      "the code of a link forged with the secret": bearer(forgedCode)
    }
    await expectNoWrites(async () => {
      for (const [label, headers] of Object.entries(credentials)) {
        for (const operation of operations) {
          const { status, text } = await send({ label }, headers, operation)
          check("401", label, operation, status === 401 && !text.includes(marker), status)
        }
      }
      for (const label of ["principal", "principal that is invalid"]) {
        const headers: object = label === "principal" ? {} : { "x-principal": '{"id":"","account":"acme"}' }
        for (const operation of operations) {
          const { status } = await send({ label }, headers, operation)
          check("401", label, operation, status === 401, status)
        }
      }
    })
    expect((await request(gate, "POST", "/console/session", {}, { code: forgedCode })).status).toBe(401)
    await acmeTokens.remove(expired.id)
    await acmeTokens.remove(expiredLater.id)
  })

  it("keeps callers of another account out, whatever they may do there", async () => {
    const callers = callersOf("other").filter(({ granted }) =>
      ["*", "admin", "support", "access write"].includes(granted)
    )
    for (const caller of callers) {
      const headers = await caller.open()
      await expectNoWrites(async () => {
        for (const operation of operations) {
          const { status, text } = await send(caller, headers, operation)
          const isOwnList = operation.owner === "request" && operation.method === "GET"
          const expected = operation.owner === "caller" || isOwnList ? [200, 403] : [403, 404]
          const isRight = expected.includes(status) && !text.includes(marker)
          check("other account", caller.label, operation, isRight, status)
        }
      })
    }
  })

  it("keeps handles of another account out, in process", async () => {
    const { bucketId = "" } = ids
    const names = { accountName: "other", bucketName: "production", bucketId, projectName: "web" }
    const isForOther = ({ owner, path, method }: Operation) =>
      // A request without an id of acme is for the account of the handle.
      !["none", "caller", "all-accounts", "request"].includes(owner) &&
      (owner !== "account" ||
        method === "GET" ||
        /:\w+(?:Id|Name)\b/.test(path.replace(/:(?:account|bucket)Name/g, "")))
    await expectNoWrites(async () => {
      for (const operation of descriptions.filter(isForOther)) {
        const { id, group, owner, path, payload } = operation
        const method = getMethods(gate, operation, names)[operation.name]
        if (typeof method !== "function") throw new Error(`${id} has no method`)
        const known = Object.keys(names).filter((name) => group !== "buckets" || name !== "bucketId")
        const params = [...path.matchAll(/:(\w+)/g)].flatMap(([, name = ""]) => (known.includes(name) ? [] : [name]))
        const args = [
          ...params.map((name) => ids[name] ?? "some-name"),
          ...(payload === undefined ? [] : [toBody(operation)])
        ]
        const result = await method(...args).then(
          (value: unknown) => ({ value, error: undefined }),
          (error: unknown) => ({ value: undefined, error })
        )
        const isHidden = !JSON.stringify(result.value ?? "").includes(marker)
        const isRight = isHidden && (owner === "account" || isTollgateError(result.error))
        check("other account in process", "a handle", operation, isRight, result)
      }
    })
  })

  it("keeps customers in their portal, and in what their session allows", async () => {
    await acme.keyBucket("production").consumers.create({ name: "mallory", description: marker })
    const { portalSessions } = acme
    const all = ["keys:read", "keys:write", "usage:read", "plan:change"] as const
    const toPathOf = (operation: Operation, consumer: string) =>
      toPath(operation).replace("/consumers/alice", `/consumers/${consumer}`)
    for (const allow of [[], ...all.map((one) => [one]), all]) {
      const { token } = await portalSessions.create("production", "mallory", { allow: [...allow] })
      await expectNoWrites(async () => {
        for (const operation of operations) {
          const { portal } = descriptions.find(({ id }) => id === operation.id) ?? {}
          const isOpen = portal?.length === 0 || portal?.some((needed) => allow.some((one) => one === needed)) === true
          for (const consumer of ["alice", "mallory"]) {
            if (isOpen && consumer === "mallory") continue
            const path = toPathOf(operation, consumer)
            const response = await request(gate, operation.method, path, bearer(token), toBody(operation))
            const [status, text] = [response.status, await response.text()]
            check("customer", `${consumer} ${allow}`, operation, status === 403 && !text.includes(marker), status)
          }
        }
      })
      for (const operation of operations) {
        const { portal } = descriptions.find(({ id }) => id === operation.id) ?? {}
        if (portal === undefined || portal.some((needed) => !allow.some((one) => one === needed))) continue
        const path = toPathOf(operation, "mallory")
        const response = await request(gate, operation.method, path, bearer(token), toBody(operation))
        const [status, text] = [response.status, await response.text()]
        const isRight = ![400, 401, 403, 405, 500].includes(status) && !text.includes(marker)
        check("customer allowed", `${allow}`, operation, isRight, [status, text])
      }
      for (const path of ["/metrics", "/v1/me", "/v1/accounts", "/v1/sessions", "/v1/metering"]) {
        const { status } = await request(gate, "GET", path, bearer(token))
        check("customer", path, { id: path }, status === 403, status)
      }
    }
    expectAllRight()
    expect(counts["customer allowed"]).toBeGreaterThan(15)
  })

  it("refuses what a credential lacks, names it, and writes nothing", async () => {
    for (const caller of [...callersOf("acme"), ...callersOf("*")]) {
      const headers = await caller.open()
      await expectNoWrites(async () => {
        for (const operation of operationsFor(caller)) {
          const lacking = findLacking(caller, operation)
          if (lacking === undefined && isForAccount(caller, operation)) continue
          const { status, text } = await send(caller, headers, operation)
          const permission = status === 403 ? (JSON.parse(text).permission as string | undefined) : undefined
          const isRight = status === 403 && permission === lacking && !text.includes(marker)
          check("403", caller.label, operation, isRight, [status, permission])
        }
      })
    }
  })

  it("allows what a credential has", async () => {
    // Those that revoke what this test uses come last.
    const rank = ({ id }: Operation) => Number(id.endsWith("All"))
    const inOrder = (caller: Caller) => [...operationsFor(caller)].sort((left, right) => rank(left) - rank(right))
    for (const caller of [...callersOf("acme"), ...callersOf("*")]) {
      let headers = await caller.open()
      for (const operation of inOrder(caller)) {
        if (findLacking(caller, operation) !== undefined || !isForAccount(caller, operation)) continue
        const { status, text } = await send(caller, headers, operation)
        check("allowed", caller.label, operation, ![400, 401, 403, 405, 500].includes(status), text)
        if (operation.id.endsWith("All")) headers = await caller.open()
      }
    }
    expectAllRight()
  })

  it("lets no credential create or keep more than it has", async () => {
    const path = "/v1/accounts/acme/tokens"
    const isAreaOrRole = (granted: string) => /^(?:\*|viewer|support|admin|.*:\*)$/.test(granted)
    const low = await acme.tokens.create({ description: "low", permissions: ["tokens:read"] })
    for (const given of grants) {
      const powerful = await acme.tokens.create({ description: "powerful", permissions: [given] })
      const attacks = [
        ["POST", path, { description: "x", permissions: ["tokens:read", given] }],
        ["PATCH", `${path}/${powerful.id}`, { description: "x" }],
        ["PATCH", `${path}/${low.id}`, { permissions: ["tokens:read", given] }]
      ] as const
      for (const granted of grants) {
        const permissions = [granted, "tokens:write"]
        const headers = { "x-principal": JSON.stringify({ id: "me", account: "acme", permissions }) }
        const has = permissions.flatMap(expand)
        const isIncluded = expand(given).every((permission) => has.includes(permission))
        // A role, and all of an area, may gain permissions: what they are today is not enough.
        const isOwn = permissions.includes(given) || granted === "*" || granted === "admin"
        const isLowerRole = granted === "support" && given === "viewer"
        const isAllowed = isIncluded && (isOwn || isLowerRole || !isAreaOrRole(given))
        for (const [method, attacked, body] of attacks) {
          const response = await request(hostGate, method, attacked, headers, body)
          const { permission } = await readJson(response)
          const isRight = isAllowed ? response.status === 200 : response.status === 403 && permission === given
          check("granting", granted, { id: `${method} tokens with ${given}` }, isRight, [response.status, permission])
        }
        if (isAllowed) await acme.tokens.update(low.id, { permissions: ["tokens:read"] })
      }
    }
    expectAllRight()
  })
})
