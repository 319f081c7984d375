import { ConfigurationError, createTollgate, type Tollgate } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

let gate: Tollgate
beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret: "a secret of more than 32 characters" })
})
afterAll(() => gate.close())

const getError = (create: () => unknown): unknown => {
  try {
    create()
  } catch (error) {
    return error
  }
  return "accepted"
}

describe.each<readonly [name: string, mount: (gate: never, options?: never) => unknown]>([
  ["toNodeHandler", toNodeHandler],
  ["tollgate of Express", express.tollgate],
  ["tollgate of Koa", koa.tollgate]
])("%s", (_, mount) => {
  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a string", "gate"],
    ["an array", []],
    ["an object without handlers", {}],
    ["a Tollgate that is not awaited", Promise.resolve()]
  ])("rejects %s as the gate", (_, gate) => {
    const error = getError(() => mount(gate as never))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toMatchObject({ message: "gate: must be the result of `await createTollgate(…)`" })
  })
})

describe.each<readonly [name: string, protect: (keyBucket: never) => unknown]>([
  ["requireApiKey of Express", express.requireApiKey],
  ["requireApiKey of Koa", koa.requireApiKey]
])("%s", (_, protect) => {
  it.each<readonly [name: string, getValue: () => unknown]>([
    ["undefined", () => undefined],
    ["a name", () => "production"],
    ["a Tollgate", () => gate],
    ["an account", () => gate.account("acme")]
  ])("rejects %s as the key bucket", (_, getValue) => {
    const error = getError(() => protect(getValue() as never))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toMatchObject({ message: "keyBucket: must be a key bucket, such as gate.account(…).keyBucket(…)" })
  })
})

describe.each<readonly [name: string, mount: (gate: Tollgate, options: never) => unknown]>([
  ["toNodeHandler", toNodeHandler],
  ["tollgate of Koa", koa.tollgate]
])("the options of %s", (_, mount) => {
  const create = (options: unknown) => getError(() => mount(gate, options as never))

  it.each([undefined, {}, { prefix: undefined }, { prefix: "" }, { prefix: "/a" }, { prefix: "/api/dev" }])(
    "accept %o",
    (options) => {
      expect(create(options)).toBe("accepted")
    }
  )

  const path = "must be a path such as /api/dev, without a slash at its end"
  it.each<readonly [options: unknown, option: string, problem: string]>([
    [null, "options", "must be an object; the options are prefix, context, sendTimeout"],
    ["/api/dev", "options", "must be an object; the options are prefix, context, sendTimeout"],
    [["/api/dev"], "options", "must be an object; the options are prefix, context, sendTimeout"],
    [{ prefx: "/api/dev" }, "prefx", "unknown option; the options are prefix, context, sendTimeout"],
    [{ prefix: null }, "prefix", path],
    [{ prefix: 5 }, "prefix", path],
    [{ prefix: "api/dev" }, "prefix", path],
    [{ prefix: "/" }, "prefix", path],
    [{ prefix: "/api/dev/" }, "prefix", path],
    [{ sendTimeout: 0 }, "sendTimeout", "must be a number of milliseconds, an integer from 1 to 2147483647"]
  ])("reject %o", (options, option, problem) => {
    const error = create(options)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toMatchObject({ option, problem })
  })
})
