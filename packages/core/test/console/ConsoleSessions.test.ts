/**
 * Codes and session tokens of the console, on every store.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConsoleCodeInvalid, createTollgate } from "@tollgate/core"
import { AccountName, ConsoleSessions, SecretBox, SecureRandom, Tollgate } from "@tollgate/core/effect"
import { copyStore, Partition, Store, type StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import { runWorkers, temporaryFolder } from "@tollgate/testing"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { shiftClock } from "../shiftClock.ts"
import { secret, stores } from "../stores.ts"
import { getCode, testConsole } from "./consoles.ts"
import type { ExchangeInput } from "./exchange.worker.ts"

const acme = AccountName.make("acme")
const all = { account: "*", access: "write" } as const
const newSecret = "another-secret-with-at-least-32-characters"

/** The services of one process on a store. */
const startProcess = (store: StoreOperations, secrets: string | ReadonlyArray<string> = secret) =>
  Effect.map(
    Layer.build(Layer.fresh(Tollgate.layer({ secret: secrets })).pipe(Layer.provide(Layer.succeed(Store, store)))),
    (context) => ({ ...Context.get(context, ConsoleSessions), secretBox: Context.get(context, SecretBox) })
  )

const startOnMemory = Effect.suspend(() => startProcess(MemoryStore.open()))

const assertRefused = <A, E>(exchange: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(exchange), (error) => assert.instanceOf(error, ConsoleCodeInvalid))

/** Replaces one character by another that the same text may contain. */
const changeAt = (text: string, index: number): string =>
  `${text.slice(0, index)}${text[index] === "a" ? "b" : "a"}${text.slice(index + 1)}`

describe.each(stores)("codes on %s", (_name, layer) => {
  it.effect("work once, in any process on the store", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [one, other] = [yield* startProcess(store), yield* startProcess(store)]
      const { code } = yield* one.createCode(all)
      const { token } = yield* other.exchange(code)
      assert.match(token, /^tgc_[\w-]+\.[0-9a-f]{64}$/)
      for (const process of [one, other]) {
        yield* assertRefused(process.exchange(code))
        assert.deepInclude(yield* process.authenticate(token), all)
      }
      yield* other.exchange((yield* one.createCode(all)).code)
    }).pipe(Effect.provide(layer), Effect.scoped)
  )

  it.effect("work once when processes use them at the same time", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const processes = [yield* startProcess(store), yield* startProcess(store)]
      const { code } = yield* (yield* startProcess(store)).createCode(all)
      const attempts = Array.from({ length: 10 }, (_, index) => processes[index % 2] ?? processes[0])
      const outcomes = yield* Effect.forEach(
        attempts,
        (process) => Effect.result(process?.exchange(code) ?? Effect.die("no process")),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag).sort(), [...Array(9).fill("Failure"), "Success"])
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})

describe("codes", () => {
  it.live("work once among processes of the operating system", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const gate = yield* Effect.promise(() => createTollgate({ store, secret, console: testConsole }))
      const links = yield* Effect.promise(() => Promise.all(Array.from({ length: 20 }, () => gate.createConsoleLink())))
      const input: ExchangeInput = { path, codes: links.map(({ url }) => getCode(url)) }
      const results = yield* Effect.promise(() =>
        runWorkers<ReadonlyArray<number>>(new URL("exchange.worker.ts", import.meta.url), [input, input, input])
      )
      yield* Effect.promise(() => gate.close())
      yield* Effect.promise(() => store.close())
      for (const index of links.keys()) {
        assert.deepStrictEqual(results.map((statuses) => statuses[index]).sort(), [200, 401, 401])
      }
    }).pipe(Effect.scoped)
  )

  it.effect("expire after 5 minutes", () =>
    Effect.gen(function* () {
      const { createCode, exchange } = yield* startOnMemory
      const [first, second] = [yield* createCode(all), yield* createCode(all)]
      assert.strictEqual(first.expiresOn.epochMilliseconds, (yield* Clock.currentTimeMillis) + 300_000)
      yield* TestClock.adjust(299_999)
      yield* exchange(first.code)
      yield* TestClock.adjust(1)
      yield* assertRefused(exchange(second.code))
    }).pipe(Effect.scoped)
  )

  it.effect("do not work again in a process whose clock is behind that of the store", () =>
    Effect.gen(function* () {
      const [memory, clock] = [MemoryStore.open(), yield* Clock.Clock]
      // Redis and PostgreSQL expire counters by a clock of their own.
      const store: StoreOperations = {
        ...memory,
        commit: (...commit) => Effect.provideService(memory.commit(...commit), Clock.Clock, clock)
      }
      const { createCode, exchange } = yield* startProcess(store)
      const { code } = yield* createCode(all)
      yield* exchange(code)
      yield* TestClock.adjust("10 minutes")
      const exchangeLate = Effect.provideService(exchange(code), Clock.Clock, shiftClock(clock, -9 * 60_000))
      yield* assertRefused(exchangeLate)
    }).pipe(Effect.scoped)
  )

  it.effect("are refused when any part of them is changed", () =>
    Effect.gen(function* () {
      const { createCode, exchange } = yield* startOnMemory
      const { code } = yield* createCode({ account: acme, access: "read" })
      const [payload = "", signature = ""] = code.split(".")
      const grant = JSON.parse(Buffer.from(payload, "base64url").toString())
      assert.deepStrictEqual(Object.keys(grant), ["account", "access", "expiresAt", "nonce"])
      const changes = [{ account: "*" }, { access: "write" }, { expiresAt: 1e12 }, { nonce: "A".repeat(22) }, {}]
      const forged = changes.map((change) => {
        const text = JSON.stringify({ ...grant, ...change }, null, Object.keys(change).length === 0 ? 1 : 0)
        return `${Buffer.from(text).toString("base64url")}.${signature}`
      })
      const mutilated = Array.from(code, (_, index) => changeAt(code, index))
      const others = [
        "",
        ".",
        payload,
        `${payload}.`,
        `.${signature}`,
        `${code}.`,
        `${code} `,
        `${payload}=.${signature}`
      ]
      for (const wrong of [...forged, ...mutilated, ...others, `${payload}.${signature.toUpperCase()}`]) {
        if (wrong !== code) yield* assertRefused(exchange(wrong))
      }
      yield* exchange(code)
    }).pipe(Effect.scoped)
  )

  it.effect("are refused with a signature that was made for something else", () =>
    Effect.gen(function* () {
      const { createCode, exchange, authenticate, secretBox } = yield* startOnMemory
      const { code } = yield* createCode(all)
      const [payload = ""] = code.split(".")
      const expires = String((yield* Clock.currentTimeMillis) + 60_000)
      for (const text of [payload, `upload ${payload} ${expires}`, `upload ${payload}`, `console-session ${payload}`]) {
        yield* assertRefused(exchange(`${payload}.${secretBox.sign(text)}`))
      }
      const { token } = yield* exchange(code)
      for (const wrong of [token, token.slice(4)]) yield* assertRefused(exchange(wrong))
      for (const wrong of [code, `tgc_${code}`, `tgc_${payload}.${secretBox.sign(`upload ${payload} ${expires}`)}`]) {
        assert.isUndefined(yield* authenticate(wrong))
      }
    }).pipe(Effect.scoped)
  )

  it.effect("survive a change of secrets, and need a secret of the server", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const old = yield* startProcess(store)
      const codes = [yield* old.createCode(all), yield* old.createCode(all)] as const
      const { token } = yield* old.exchange(codes[0].code)
      const rotated = yield* startProcess(store, [newSecret, secret])
      assert.isDefined(yield* rotated.authenticate(token))
      yield* rotated.exchange(codes[1].code)
      yield* assertRefused(rotated.exchange(codes[0].code))
      const stranger = yield* startProcess(MemoryStore.open(), newSecret)
      yield* assertRefused(stranger.exchange((yield* old.createCode(all)).code))
      assert.isUndefined(yield* stranger.authenticate(token))
    }).pipe(Effect.scoped)
  )

  it.live("store one number for each code that was used, which can be copied", () =>
    Effect.gen(function* () {
      const [source, target] = [MemoryStore.open(), MemoryStore.open()]
      const { createCode, exchange } = yield* startProcess(source)
      const nonce = new Uint8Array(16).fill(7)
      const { code } = yield* Effect.provideService(createCode(all), SecureRandom, { bytes: () => nonce })
      const counter = `used/${Buffer.from(nonce).toString("base64url")}`
      assert.deepStrictEqual(yield* source.counters(Partition.consoleCodes, [counter]), [0])
      yield* exchange(code)
      assert.deepStrictEqual(yield* source.counters(Partition.consoleCodes, [counter]), [1])
      yield* Effect.promise(() => copyStore(source, target))
      yield* assertRefused((yield* startProcess(target)).exchange(code))
    }).pipe(Effect.scoped)
  )
})

describe("session tokens", () => {
  it.effect("are valid for one hour, for what the link was for", () =>
    Effect.gen(function* () {
      const { createCode, exchange, authenticate } = yield* startOnMemory
      const { code } = yield* createCode({ account: acme, access: "read" })
      const { token, expiresOn } = yield* exchange(code)
      assert.strictEqual(expiresOn.epochMilliseconds, (yield* Clock.currentTimeMillis) + 3_600_000)
      yield* TestClock.adjust(3_599_999)
      const principal = yield* authenticate(token)
      assert.match(principal?.id ?? "", /^console-[\w-]{12}$/)
      assert.deepInclude(principal, { account: acme, access: "read" })
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* authenticate(token))
    }).pipe(Effect.scoped)
  )

  it.effect("are refused when any part of them is changed", () =>
    Effect.gen(function* () {
      const { createCode, exchange, authenticate } = yield* startOnMemory
      const { token } = yield* exchange((yield* createCode(all)).code)
      for (const index of token.split("").keys()) assert.isUndefined(yield* authenticate(changeAt(token, index)))
      for (const wrong of ["tgc_", "tgc_.", token.slice(0, -1), `${token}0`, `tgc_${"x".repeat(2_000)}`]) {
        assert.isUndefined(yield* authenticate(wrong))
      }
    }).pipe(Effect.scoped)
  )

  it.effect("of different links have different ids", () =>
    Effect.gen(function* () {
      const { createCode, exchange, authenticate } = yield* startOnMemory
      const ids = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.gen(function* () {
          const { token } = yield* exchange((yield* createCode(all)).code)
          return (yield* authenticate(token))?.id
        })
      )
      assert.strictEqual(new Set(ids).size, 20)
    }).pipe(Effect.scoped)
  )
})
