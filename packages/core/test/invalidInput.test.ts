/**
 * What is wrong with a request: every place once, in the order of the request, over HTTP, in process and in the client.
 */
import { type ConsumersMethods, createTollgate, InvalidInput, type KeysMethods } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, describe, expect, it, vi } from "vitest"
import { makeClient } from "./http/client.ts"
import { grants, secret, tokens } from "./stores.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, bodyLimit: 10_000_000 })
afterAll(() => gate.close())
const call = makeClient(gate.handler)
const client = createClient({ baseUrl: "http://gate", token: tokens.writer })
const local = gate.account("acme").keyBucket("b")
const remote = client.account("acme").keyBucket("b")
const bucket = "/v1/accounts/acme/key-buckets/b"
await local.consumers.create({ name: "alice" })

const getErrors = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error
  )
  if (!(error instanceof InvalidInput)) throw new Error("there is no InvalidInput")
  return error.errors
}

type Create = (body: unknown) => Promise<InvalidInput["errors"]>
const post =
  (path: string): Create =>
  async (body) => {
    const response = await call("POST", `${bucket}/consumers${path}`, { body })
    expect(response.status).toBe(400)
    return response.body.errors
  }
const createConsumer =
  ({ consumers }: { readonly consumers: ConsumersMethods }): Create =>
  (body) =>
    getErrors(consumers.create(body as never))
const createKeys =
  ({ keys }: { readonly keys: KeysMethods }): Create =>
  (body) =>
    getErrors(keys.createMany("alice", body as never))

const callers: ReadonlyArray<readonly [string, { readonly consumer: Create; readonly keys: Create }]> = [
  ["over HTTP", { consumer: post(""), keys: post("/alice/keys/$bulk") }],
  ["in process", { consumer: createConsumer(local), keys: createKeys(local) }],
  ["in the client", { consumer: createConsumer(remote), keys: createKeys(remote) }]
]

const pointers = (errors: InvalidInput["errors"]) => errors.map(({ pointer }) => pointer)

describe.each(callers)("a body %s", (_, { consumer, keys }) => {
  it("has an entry for every place, in its order", async () => {
    const body = { foo: 1, description: 5, tags: { "b b": 1, ok: 1, c: {} }, name: "BAD NAME", bar: 1 }
    expect(await consumer(body)).toEqual([
      { pointer: "/foo", detail: "unknown field" },
      { pointer: "/description", detail: "Expected string" },
      { pointer: "/tags/b b", detail: expect.stringContaining("a name of 1 to 64") },
      { pointer: "/tags/c", detail: "Expected string | number | boolean" },
      { pointer: "/name", detail: expect.stringContaining("lower-case") },
      { pointer: "/bar", detail: "unknown field" }
    ])
    expect(pointers(await consumer({ description: 5 }))).toEqual(["/description", "/name"])
  })

  it("has one entry for a place that fails several checks", async () => {
    expect(await keys([{ expiresOn: "x", scopes: ["a", "a", " "] }])).toEqual([
      { pointer: "/0/expiresOn", detail: expect.stringContaining("a date-time with an offset") },
      { pointer: "/0/scopes/2", detail: expect.any(String) }
    ])
  })

  it("is compared with the alternative that is meant", async () => {
    const managers = async (...managers: ReadonlyArray<unknown>) => pointers(await consumer({ name: "x", managers }))
    expect(await managers("boss")).toEqual(["/managers/0"])
    expect(await managers("a@b.c", "boss", "chief")).toEqual(["/managers/1", "/managers/2"])
    expect(await managers({ sub: 5, x: 1 }, { email: "a" })).toEqual([
      "/managers/0/sub",
      "/managers/0/x",
      "/managers/1/email",
      "/managers/1/sub"
    ])
    expect(pointers(await keys({ description: 5, x: 1 }))).toEqual(["/description", "/x"])
    expect(pointers(await keys([{ description: 5 }, {}, { x: 1 }, 7]))).toEqual(["/0/description", "/2/x", "/3"])
    expect(pointers(await keys(5))).toEqual([""])
  })
})

it("lists at most 100 places, and says so", async () => {
  const body = Array.from({ length: 150 }, (_, index) => ({ [`f${index}`]: 1 }))
  const { errors, detail } = (await call("POST", `${bucket}/consumers/alice/keys/$bulk`, { body })).body
  expect(pointers(errors)).toEqual(Array.from({ length: 100 }, (_, index) => `/${index}/f${index}`))
  expect(detail).toBe("/0/f0: unknown field. Only the first 100 mistakes are listed.")
  const query = Array.from({ length: 150 }, (_, index) => `f${index}=1`).join("&")
  expect((await call("GET", `${bucket}/consumers?${query}`)).body.errors).toHaveLength(100)
})

it("reads the first mistake only of a body with very many", async () => {
  const scopes = Array.from({ length: 900 }, () => 1)
  const body = Array.from({ length: 100 }, () => ({ scopes }))
  const { errors, detail } = (await call("POST", `${bucket}/consumers/alice/keys/$bulk`, { body })).body
  expect(errors).toEqual([{ pointer: "/0/scopes/0", detail: "Expected string" }])
  expect(detail).toBe("/0/scopes/0: Expected string. Only the first mistake is listed.")
})

describe("parameters", () => {
  it("over HTTP have an entry for each, of the path, the query and the headers", async () => {
    const list = await call("GET", `/v1/accounts/acme/key-buckets/_/consumers?limit=0&offset=-1&foo=1`)
    expect(list.body.errors).toEqual([
      { parameter: "bucketName", detail: expect.any(String) },
      { parameter: "limit", detail: expect.any(String) },
      { parameter: "offset", detail: expect.any(String) },
      { parameter: "foo", detail: "unknown parameter" }
    ])
    const headers = { "if-match": "x" }
    const removal = await call("DELETE", `${bucket}/consumers/alice?tag=1`, { headers })
    expect(removal.body.errors).toEqual([
      { parameter: "tag", detail: "unknown parameter" },
      { parameter: "If-Match", detail: expect.any(String) }
    ])
  })

  it.each([
    ["in process", local],
    ["in the client", remote]
  ])("%s have an entry for each option", async (_, { consumers }) => {
    const options = { limit: 0, foo: 1, offset: -1 }
    expect((await getErrors(consumers.list(options))).map(({ parameter }) => parameter)).toEqual([
      "limit",
      "foo",
      "offset"
    ])
    const condition = { ifMatch: [], ifTags: 5 } as never
    expect((await getErrors(consumers.remove("alice", condition))).map(({ parameter }) => parameter)).toEqual([
      "ifMatch",
      "ifTags"
    ])
  })
})

it("sends no request of the client that is invalid", async () => {
  const fetching = vi.spyOn(globalThis, "fetch")
  await expect(remote.consumers.create({ name: "BAD NAME" })).rejects.toBeInstanceOf(InvalidInput)
  expect(fetching).not.toHaveBeenCalled()
  fetching.mockRestore()
})
