/**
 * The `logger` option with the loggers that hosts have: entries arrive with their level and structured fields.
 */
import { Writable } from "node:stream"
import { ConfigurationError, createTollgate, type TollgateOptions } from "@tollgate/core"
import { withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { StoreUnavailable } from "@tollgate/store"
import { Effect } from "effect"
import pino from "pino"
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest"
import winston from "winston"
import { secret } from "../secrets.ts"

type Entry = Readonly<Record<string, unknown>>
type HostLogger = NonNullable<TollgateOptions["logger"]>

/** A stream that keeps lines of JSON. */
const makeLineStream = () => {
  const lines: Array<string> = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(
        ...String(chunk)
          .split("\n")
          .filter((line) => line !== "")
      )
      done()
    }
  })
  return { stream, entries: (): ReadonlyArray<Entry> => lines.map((line) => JSON.parse(line)) }
}

interface TestedLogger {
  readonly logger: HostLogger
  /** The entries, with `level` and `message` whatever the logger calls them. */
  readonly entries: () => ReadonlyArray<Entry>
}

const makePino = (): TestedLogger => {
  const { stream, entries } = makeLineStream()
  return {
    logger: pino({ level: "debug", messageKey: "message", formatters: { level: (level) => ({ level }) } }, stream),
    entries
  }
}

const makeWinston = (): TestedLogger => {
  const { stream, entries } = makeLineStream()
  const transports = [new winston.transports.Stream({ stream })]
  return { logger: winston.createLogger({ level: "debug", format: winston.format.json(), transports }), entries }
}

/** Takes a message and any values, as the console does. */
const makeConsole = (): TestedLogger => {
  const entries: Array<Entry> = []
  const log =
    (level: string) =>
    (message: unknown, fields: object = {}) =>
      void entries.push({ level, message, ...fields })
  return {
    logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    entries: () => entries
  }
}

/** Methods that need their object, as those of classes do. */
class ClassLogger {
  readonly #entries: Array<Entry> = []
  #log(level: string, message: unknown, fields: object = {}) {
    this.#entries.push({ level, message, ...fields })
  }
  debug(message: unknown, fields?: object) {
    this.#log("debug", message, fields)
  }
  info(message: unknown, fields?: object) {
    this.#log("info", message, fields)
  }
  warn(message: unknown, fields?: object) {
    this.#log("warn", message, fields)
  }
  error(message: unknown, fields?: object) {
    this.#log("error", message, fields)
  }
  entries() {
    return this.#entries
  }
}

const makeClassLogger = (): TestedLogger => {
  const logger = new ClassLogger()
  return { logger, entries: () => logger.entries() }
}

/** A gate whose `authenticate` throws for one token, and whose store can be away. */
const startGate = async (logger: HostLogger | undefined) => {
  const store = MemoryStore.open()
  const state = { isAway: false }
  const getByUniqueKey: typeof store.getByUniqueKey = (...args) =>
    Effect.suspend(() =>
      state.isAway
        ? Effect.fail(new StoreUnavailable({ operation: "get", problem: "it is away", outcome: "not-applied" }))
        : store.getByUniqueKey(...args)
    )
  const gate = await createTollgate({
    store: { ...store, getByUniqueKey },
    secret,
    logger,
    authenticate: (request) => {
      if (request.headers.get("authorization") === "throw") throw new Error("the identity provider is down")
      return { id: "user", account: "acme", access: "write" }
    }
  })
  onTestFinished(() => gate.close())
  const send = (id: string, headers: Readonly<Record<string, string>> = {}) =>
    gate.handler(
      new Request("http://gate/v1/accounts/acme/key-buckets/b/consumers", {
        headers: { "x-request-id": id, ...headers }
      })
    )
  const production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  return { send, state, production, key: apiKeys?.[0]?.key ?? "" }
}

afterEach(() => void vi.restoreAllMocks())

describe.each([
  ["pino", makePino],
  ["winston", makeWinston],
  ["a console", makeConsole],
  ["a class", makeClassLogger]
])("%s as logger", (_, make) => {
  it("receives each request at the level debug, with its fields", async () => {
    const { logger, entries } = make()
    const { send } = await startGate(logger)
    expect((await send("request-1")).status).toBe(200)
    await expect.poll(entries).toContainEqual(
      expect.objectContaining({
        level: "debug",
        message: "Handled a request",
        requestId: "request-1",
        method: "GET",
        route: "/v1/accounts/{accountName}/key-buckets/{bucketName}/consumers",
        status: 200,
        durationMs: expect.any(Number)
      })
    )
  })

  it("receives an unexpected error at the level error, with the stack as a field", async () => {
    const { logger, entries } = make()
    const { send } = await startGate(logger)
    expect((await send("request-2", { authorization: "throw" })).status).toBe(500)
    await expect.poll(entries).toContainEqual(
      expect.objectContaining({
        level: "error",
        message: expect.stringMatching(/^GET .* failed$/),
        requestId: "request-2",
        error: expect.stringMatching(/the identity provider is down\n\s+at /)
      })
    )
  })

  it("receives why a protected route responded with 503, with the ID of the response", async () => {
    const { logger, entries } = make()
    const { state, production, key } = await startGate(logger)
    const handle = withApiKey(production, {}, () => new Response("hello"))
    state.isAway = true
    const response = await handle(new Request("http://host/hello", { headers: { authorization: `Bearer ${key}` } }))
    expect(response.status).toBe(503)
    const { instance } = (await response.json()) as { readonly instance: string }
    await expect
      .poll(entries)
      .toContainEqual(
        expect.objectContaining({ level: "error", requestId: instance, message: expect.stringContaining("it is away") })
      )
  })
})

describe("a logger that fails", () => {
  const fail = () => {
    throw new Error("the disk is full")
  }
  const reject = async () => fail()

  it.each([
    ["throws", { debug: fail, info: fail, warn: fail, error: fail }],
    ["rejects", { debug: reject, info: reject, warn: reject, error: reject }]
  ])("because it %s does not fail the request, nor the process", async (_, logger) => {
    const rejections: Array<unknown> = []
    const collect = (reason: unknown) => void rejections.push(reason)
    process.on("unhandledRejection", collect)
    onTestFinished(() => void process.off("unhandledRejection", collect))
    const { send } = await startGate(logger)
    expect((await send("request-3")).status).toBe(200)
    expect((await send("request-4", { authorization: "throw" })).status).toBe(500)
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejections).toEqual([])
  })
})

describe("without a logger", () => {
  it("entries of the level info and above are dated lines of JSON on the standard error", async () => {
    const lines: Array<string> = []
    vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line))
    const { send } = await startGate(undefined)
    await send("request-5")
    await send("request-6", { authorization: "throw" })
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: "error",
        message: "GET /v1/accounts/acme/key-buckets/b/consumers failed",
        requestId: "request-6",
        error: expect.stringContaining("the identity provider is down")
      }
    ])
    for (const line of lines) expect(line).not.toContain("\n")
  })
})

describe("the logger option", () => {
  it.each([
    ["an object without the method warn", { debug: () => {}, info: () => {}, error: () => {} }],
    ["a function", () => undefined],
    ["a name", "pino"],
    ["null", null]
  ])("must not be %s", async (_, logger) => {
    const creating = createTollgate({ store: MemoryStore.open(), secret, logger: logger as never })
    await expect(creating).rejects.toBeInstanceOf(ConfigurationError)
    await expect(creating).rejects.toThrow(/logger.*must have the methods debug, info, warn and error/)
  })
})
