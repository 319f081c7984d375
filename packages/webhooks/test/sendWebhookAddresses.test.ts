import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { eventually, recordSockets } from "@tollgate/testing"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { sendWebhook } from "../src/sendWebhook.ts"
import { startTextEndpoint } from "./endpoints.ts"
import { type DnsAnswer, makeResolver } from "./resolvers.ts"

const send = (url: string, allowPrivateNetworks = false) =>
  sendWebhook({ url, headers: {}, body: "{}", allowPrivateNetworks }).pipe(Effect.catchTag("ResolverBusy", Effect.die))

const noContent = "HTTP/1.1 204 No Content\r\n\r\n"

/** In a range that IANA has taken back from its users: public by its number, and routed nowhere. */
const unrouted = "3ffe::1"

const refusedHosts: ReadonlyArray<readonly [host: string, answer: DnsAnswer]> = [
  ["127.0.0.1", []],
  ["2130706433", []],
  ["0x7f.1", []],
  ["[::ffff:127.0.0.1]", []],
  ["[::1]", []],
  ["localhost", ["127.0.0.1"]],
  ["localhost.", ["127.0.0.1"]],
  ["hooks.localhost", ["127.0.0.1"]],
  ["hooks.internal", ["127.0.0.1"]],
  ["hooks.example", ["127.0.0.1"]],
  ["hooks.example", ["::1"]],
  ["hooks.example", ["::ffff:127.0.0.1"]],
  ["hooks.example", [unrouted, "127.0.0.1"]],
  ["hooks.example", ["127.0.0.1", unrouted]],
  ["hooks.example", []]
]

/** Records the addresses to which sockets of this process connect, also if no server is there. */
const recordConnectionAttempts = Effect.gen(function* () {
  const addresses: Array<string> = []
  const record = (message: unknown): void => {
    if (typeof message !== "object" || message === null || !("socket" in message)) return
    if (message.socket instanceof Socket) message.socket.on("connectionAttempt", (address) => addresses.push(address))
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe("net.client.socket", record)),
    () => Effect.sync(() => void unsubscribe("net.client.socket", record))
  )
  return addresses
})

describe("sendWebhook", () => {
  for (const [host, answer] of refusedHosts) {
    it.effect(`opens no socket to ${host}${answer instanceof Error ? "" : ` with the addresses ${answer}`}`, () =>
      Effect.gen(function* () {
        const { port, sockets } = yield* startTextEndpoint(noContent)
        const opened = yield* recordSockets
        const { reason } = yield* Effect.flip(makeResolver(answer).provide(send(`https://${host}:${port}/`)))
        assert.match(reason, /^the host ".+" (is not public|has no address)$/)
        assert.strictEqual(opened.length, 0)
        assert.strictEqual(sockets.length, 0)
      })
    )
  }

  it.effect("opens no socket for http, also to a public host", () =>
    Effect.gen(function* () {
      const opened = yield* recordSockets
      const { reason } = yield* Effect.flip(makeResolver([unrouted]).provide(send("http://hooks.example/")))
      assert.strictEqual(reason, "the URL must begin with https://")
      assert.strictEqual(opened.length, 0)
    })
  )

  it.effect("connects to the public address that it checked, although the name then resolves to 127.0.0.1", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* startTextEndpoint(noContent)
      const attempts = yield* recordConnectionAttempts
      const { hosts, provide } = makeResolver([unrouted], ["127.0.0.1"])
      const fiber = yield* Effect.forkChild(Effect.exit(provide(send(`https://hooks.example:${port}/`))))
      yield* Effect.promise(() => eventually(() => assert.isNotEmpty(attempts)))
      yield* TestClock.adjust(15_000)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Failure")
      assert.deepStrictEqual(attempts, [unrouted])
      assert.deepStrictEqual(hosts, ["hooks.example"])
      assert.strictEqual(sockets.length, 0)
    })
  )

  it.effect("resolves a name once for each message, and connects to the answer", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* startTextEndpoint(noContent)
      const attempts = yield* recordConnectionAttempts
      const { hosts, provide } = makeResolver(["127.0.0.1"], ["127.0.0.2"])
      assert.strictEqual((yield* provide(send(`http://hooks.example:${port}/`, true))).statusCode, 204)
      assert.deepStrictEqual(hosts, ["hooks.example"])
      assert.deepStrictEqual(attempts, ["127.0.0.1"])
      assert.strictEqual(sockets.length, 1)
    })
  )
})
