/**
 * No field is lost: what a request sets is there after create, update, get and list, in process, over HTTP and in the
 * client; a field that is missing in an update stays, and `null` clears it. The fields come from the declarations and
 * the values from their schemas, so a new field is tested without a change here.
 */

import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { isDeepStrictEqual } from "node:util"
import { type AccountHandle, createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { decisions } from "@tollgate/decisions"
import { toNodeHandler } from "@tollgate/node"
import { Store } from "@tollgate/store"
import { type TokensOfAccount, tokens as tokensModule } from "@tollgate/tokens"
import { type WebhooksOfAccount, webhooks } from "@tollgate/webhooks"
import { Arbitrary, Context, DateTime, Effect, Exit, Layer, Schema, SchemaAST, Scope } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { findUnsafeJson } from "../../store/src/schema/SafeJson.ts"
import type { OperationDescription } from "../src/api/describeOperations.ts"
import { getInProcessFields } from "../src/api/parameters.ts"
import { ApiKeyImport } from "../src/records/ApiKey.ts"
import { clientModules, descriptions, memoryDeployments } from "./allModules.ts"
import { secret, stores, tokens } from "./stores.ts"

type Account = AccountHandle & TokensOfAccount & WebhooksOfAccount
type Fields = Record<string, unknown>
type Names = Readonly<Record<string, string>>

/** Calls an operation. Returns its result as JSON. */
type Call = (operation: OperationDescription, names: Names, body?: Fields) => Promise<Fields>

/** What a resource needs, and the fields whose values depend on it. */
interface Prepared {
  readonly names?: Names
  readonly create?: Fields
  readonly update?: Fields
  /** What the update changes besides its fields. */
  readonly implied?: Fields
}

/** The resources: all groups that have a `create` and a `get`. */
const resources: Readonly<Record<string, (account: Account) => Promise<Prepared>>> = {
  consumers: async () => ({ create: { name: "alice" }, update: { name: "alice" } }),
  keys: async (account) => {
    await account.keyBucket("production").consumers.create({ name: "alice" })
    return {}
  },
  buckets: async ({ accountName }) => ({ create: { accountName } }),
  plans: async (account) => ({ names: { bucketId: (await account.meteringBuckets.create()).id } }),
  subscriptions: async (account) => {
    const { id: bucketId } = await account.meteringBuckets.create()
    const { plans } = account.meteringBucket(bucketId)
    const [one, two] = [
      await plans.create({ label: "one", meters: { requests: { max: 1 } } }),
      await plans.create({ label: "two", meters: { requests: { max: 2 } } })
    ]
    return {
      names: { bucketId },
      create: { planIds: [one.id], planExternalIds: ["one"] },
      update: { planExternalIds: ["two"] },
      implied: { planIds: [two.id] }
    }
  },
  grants: async (account) => {
    const { id: bucketId } = await account.meteringBuckets.create()
    const dates = { effectiveOn: "2090-01-01T00:00:00.000Z", expiresOn: "2091-01-01T00:00:00.000Z" }
    return { names: { bucketId, customerKey: "alice" }, create: dates }
  },
  alerts: async (account) => {
    const { id: bucketId } = await account.meteringBuckets.create()
    await account.meteringBucket(bucketId).plans.create({ label: "one", meters: { requests: { max: 1 } } })
    return { names: { bucketId, customerKey: "alice" }, create: { meter: "requests", when: { used: 1 } } }
  },
  tokens: async () => ({
    create: { permissions: ["consumers:read"] },
    update: { permissions: ["keys:read"] }
  }),
  webhooks: async () => ({ create: { url: "http://127.0.0.1:9/one" }, update: { url: "http://127.0.0.1:9/two" } })
}

/** The names that the handle of a resource knows. */
const getHandleNames = (group: string): ReadonlyArray<string> =>
  group === "buckets"
    ? ["accountName"]
    : ["accountName", "bucketName", "bucketId", ...(["grants", "alerts"].includes(group) ? ["customerKey"] : [])]

const getMethods = (account: Account, group: string, { bucketId = "none" }: Names) => {
  const [production, metering] = [account.keyBucket("production"), account.meteringBucket(bucketId)]
  const methods = {
    consumers: production.consumers,
    keys: production.keys,
    buckets: account.meteringBuckets,
    plans: metering.plans,
    subscriptions: metering.subscriptions,
    grants: metering.customer("alice").grants,
    alerts: metering.customer("alice").alerts,
    tokens: account.tokens,
    webhooks: account.webhooks
  }
  return methods[group as "keys"] as unknown as Record<string, (...args: ReadonlyArray<unknown>) => Promise<Fields>>
}

const getParams = (path: string) => [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)

/** Asks for everything that results can contain. */
const includeAll: Fields = {
  apiKeys: true,
  managers: true,
  managerInvites: true,
  keyFormat: "visible",
  limit: 10,
  offset: 0
}

const getOptions = ({ query }: OperationDescription, names: Names): Fields => {
  const declared = getInProcessFields(query)
  return Object.fromEntries(Object.entries({ ...includeAll, ...names }).filter(([name]) => name in declared))
}

const callByHandle =
  (getAccount: (name: string) => Account): Call =>
  async (operation, names, body) => {
    const { group, name, path } = operation
    const args = getParams(path)
      .filter((param) => !getHandleNames(group).includes(param))
      .map((param) => names[param])
    const method = getMethods(getAccount(names["accountName"] ?? ""), group, names)[name]
    const options = getOptions(operation, names)
    return (await method?.(...args, ...(body === undefined ? [] : [body]), options)) ?? {}
  }

const callByHttp =
  (baseUrl: string): Call =>
  async (operation, names, body) => {
    const { method, path, query } = operation
    const options = getOptions(operation, names)
    const parameters = query === undefined ? {} : Schema.encodeUnknownSync(query as Schema.Codec<unknown>)(options)
    const url = new URL(baseUrl + path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(names[name] ?? "")))
    for (const [name, value] of Object.entries(parameters as Fields)) url.searchParams.set(name, String(value))
    const headers = { authorization: `Bearer ${tokens.admin}`, "content-type": "application/json" }
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const json = (await response.json()) as Fields
    if (!response.ok) throw new Error(`${operation.id}: ${JSON.stringify(json)}`)
    return json
  }

/** Creates another resource, and is not a field of this one. */
const furtherResources = ["subscription"]

/** The declared fields of a body. */
const getFields = (schema: OperationDescription["payload"]): ReadonlyArray<[string, Schema.Codec<unknown>]> => {
  if (schema === undefined || schema === "stream" || !SchemaAST.isObjects(schema.ast)) throw new Error("no JSON object")
  return schema.ast.propertySignatures
    .filter(({ name }) => !furtherResources.includes(String(name)))
    .map(({ name, type }) => [String(name), Schema.make(type)])
}

/** Moves generated times into the years 2100 to 3100: others cannot be sent, or are in the past, where trials end. */
const moveTimes = (value: unknown): unknown => {
  if (DateTime.isDateTime(value)) {
    const [start, span] = [Date.UTC(2100, 0), Date.UTC(3100, 0) - Date.UTC(2100, 0)]
    return DateTime.makeUnsafe(start + (Math.abs(DateTime.toEpochMillis(value)) % span))
  }
  if (Array.isArray(value)) return value.map(moveTimes)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, moveTimes(item)]))
}

/** Of managers that name the same user, the first counts. */
const hasSameManagers = (value: unknown): boolean => {
  const users = Array.isArray(value) ? value.map((item) => String(item?.sub ?? item).toLowerCase()) : []
  return new Set(users).size < users.length
}

const isEmpty = (value: unknown) =>
  value === false || value === "" || (typeof value === "object" && Object.keys(value ?? {}).length === 0)

/** A valid value of a field, as JSON: if possible another one than now, and not an empty one. */
const sampleField = (name: string, schema: Schema.Codec<unknown>, seed: string, current: unknown): unknown => {
  const arbitrary = Arbitrary.schema(Schema.toType(schema))
  const generated = Effect.runSync(Arbitrary.sampleEffect(arbitrary, { count: 10, size: 4, seed: name + seed }))
  const values = generated.flatMap((value) => {
    const encoded = Schema.encodeUnknownExit(schema)(moveTimes(value))
    if (Exit.isFailure(encoded) || encoded.value === null) return []
    const json = JSON.parse(JSON.stringify(encoded.value))
    const isValid = Exit.isSuccess(Schema.decodeUnknownExit(schema)(json)) && findUnsafeJson(json) === undefined
    return isValid && !(name === "managers" && hasSameManagers(json)) ? [json] : []
  })
  const others = values.filter((value) => !isDeepStrictEqual(value, current))
  const value = others.find((value) => !isEmpty(value)) ?? others[0] ?? values[0]
  if (value === undefined) throw new Error(`No valid value of ${name} was generated`)
  return value
}

const samples = new Map<string, Fields>()

/** Values of all declared fields. They are generated once for all stores and ways to call an operation. */
const sampleFields = (schema: OperationDescription["payload"], seed: string, current: Fields = {}): Fields => {
  const sample =
    samples.get(seed) ??
    Object.fromEntries(getFields(schema).map(([name, field]) => [name, sampleField(name, field, seed, current[name])]))
  samples.set(seed, sample)
  return sample
}

const getClearableFields = (schema: OperationDescription["payload"]): ReadonlyArray<string> =>
  getFields(schema).flatMap(([name, field]) => (Exit.isSuccess(Schema.decodeUnknownExit(field)(null)) ? [name] : []))

/** Say how a call changes other fields, and are none themselves. */
const notReturned = ["prorate", "continueUsage"]
/** Fields that are absent in results if they are empty. */
const absentIfEmpty = ["disabled", "scopes", "ipAllow", "rateLimits"]

const isListOfItems = (value: unknown): value is ReadonlyArray<Fields> =>
  Array.isArray(value) && value.some((item) => typeof item === "object")

/** Results separate managers by what is known of them. */
const joinManagers = ({ managers = [], managerInvites = [], ...rest }: Fields): Fields => ({
  ...rest,
  managers: [...(managers as []), ...(managerInvites as ReadonlyArray<Fields>).map(({ email }) => email)]
})

const expectFields = (actual: Fields | undefined, expected: Fields, label: string): void => {
  const result = joinManagers(JSON.parse(JSON.stringify(actual ?? {})))
  for (const [name, value] of Object.entries(expected)) {
    const [field, message] = [result[name], `${label}: ${name}`]
    if (notReturned.includes(name)) continue
    if (value === null || (absentIfEmpty.includes(name) && isEmpty(value))) expect(field, message).toBeUndefined()
    else if (!isListOfItems(value)) expect(field, message).toEqual(value)
    else for (const [index, item] of value.entries()) expectFields((field as Array<Fields>)?.[index], item, message)
  }
}

/** Creates, reads and updates a resource with values for all its fields. */
const roundTrip = async (call: Call, account: Account, group: string) => {
  const find = (name: string) => descriptions.find(({ id }) => id === `${group}.${name}`)
  const [create, get, list, update] = [find("create"), find("get"), find("list"), find("update")]
  if (create === undefined || get === undefined || list === undefined) throw new Error(`${group} has no get or list`)
  const prepared = (await resources[group]?.(account)) ?? {}
  const { accountName } = account
  const parents: Names = { accountName, bucketName: "production", consumerName: "alice", ...prepared.names }

  let state: Fields = { ...sampleFields(create.payload, create.id), ...prepared.create }
  const created = await call(create, parents, state)
  expectFields(created, state, `${group}.create`)
  const names: Names = {
    ...parents,
    [getParams(get.path).at(-1) ?? ""]: String(created["id"]),
    ...(group === "consumers" ? { consumerName: "alice" } : {})
  }

  const read = async (label: string) => {
    expectFields(await call(get, names), state, `${group}.get after ${label}`)
    const { data } = (await call(list, parents)) as { data: ReadonlyArray<Fields> }
    expectFields(
      data.find(({ id }) => id === created["id"]),
      state,
      `${group}.list after ${label}`
    )
  }
  await read("create")
  if (update === undefined) return

  const apply = async (patch: Fields, label: string, implied: Fields = {}) => {
    expectFields(await call(update, names, patch), patch, `${group}.update with ${label}`)
    state = { ...state, ...patch, ...implied }
    await read(`an update with ${label}`)
  }
  const setAll = (step: string) =>
    apply(
      { ...sampleFields(update.payload, `${update.id} ${step}`, state), ...prepared.update },
      "all fields",
      prepared.implied
    )
  await apply({}, "no field")
  await setAll("first")
  for (const name of getClearableFields(update.payload)) await apply({ [name]: null }, `${name}: null`)
  await setAll("second")
}

describe.each(stores)("every declared field, on %s", (_, layer) => {
  const scope = Effect.runSync(Scope.make())
  let calls: Readonly<Record<string, Call>> = {}
  let getAccount: (name: string) => Account

  beforeAll(async () => {
    const store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    const gate = await createTollgate({
      store,
      secret,
      tokens: [{ token: tokens.admin, account: "*", permissions: ["*"] }],
      publicUrl: "http://gate",
      modules: [decisions(), memoryDeployments(), tokensModule(), webhooks({ allowPrivateNetworks: true })]
    })
    const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    getAccount = gate.account
    calls = {
      process: callByHandle(gate.account),
      http: callByHttp(baseUrl),
      client: callByHandle(createClient({ baseUrl, token: tokens.admin, modules: clientModules }).account)
    }
    return async () => {
      server.close()
      await gate.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  })

  it("of every resource is covered", () => {
    const havingGet = descriptions.filter(({ name }) => name === "get").map(({ group }) => group)
    const groups = descriptions.flatMap(({ name, group }) =>
      name === "create" && havingGet.includes(group) ? [group] : []
    )
    expect(Object.keys(resources)).toEqual(groups)
  })

  describe.each(["process", "http", "client"])("by way of %s", (way) => {
    it.each(Object.keys(resources))("survives in %s", (group) =>
      roundTrip(calls[way] as Call, getAccount(`${group}-${way}`), group)
    )
  })

  it("of a key is imported", async () => {
    const { consumers, keys } = getAccount("imports").keyBucket("production")
    await consumers.create({ name: "alice" })
    const { hash, algorithm, suffix, ...fields } = sampleFields(ApiKeyImport, "keys.import")
    const { data } = await keys.import("alice", { keys: [{ hash, algorithm, suffix, ...fields } as never] })
    expectFields(data[0], fields, "keys.import")
    expectFields(await keys.get("alice", data[0]?.id ?? ""), fields, "keys.get after keys.import")
  })
})
