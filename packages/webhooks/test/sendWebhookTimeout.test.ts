import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { sendWebhook } from "../src/sendWebhook.ts"
import { WebhookResolver } from "../src/WebhookResolver.ts"
import { WebhookSendError } from "../src/WebhookSendError.ts"
import { startEndpoint } from "./endpoints.ts"
import { provideSilentResolver } from "./resolvers.ts"

const send = (url: string) => sendWebhook({ url, headers: {}, body: "{}", allowPrivateNetworks: true })

const timedOut = Exit.fail(new WebhookSendError({ reason: "no complete response within 15 seconds" }))

/** An endpoint that writes `text` when it is sent something. The test waits for connections and for their end. */
const startSlowEndpoint = (text: string) =>
  Effect.gen(function* () {
    const opened = Promise.withResolvers<Socket>()
    const closed = Promise.withResolvers<void>()
    const { port } = yield* startEndpoint((socket) => {
      socket.on("close", () => closed.resolve())
      socket.write(text, () => opened.resolve(socket))
    })
    return { port, opened: Effect.promise(() => opened.promise), closed: Effect.promise(() => closed.promise) }
  })

const head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"

const slow: ReadonlyArray<readonly [title: string, protocol: string, text: string]> = [
  ["does not end the TLS handshake", "https", ""],
  ["does not respond", "http", ""],
  ["responds with half of its headers", "http", "HTTP/1.1 200 OK\r\ncontent-le"],
  ["responds with an informational response", "http", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ["responds with half of its body", "http", `${head}abc`]
]

describe("sendWebhook", () => {
  for (const [title, protocol, text] of slow) {
    it.effect(`fails after 15 seconds, and closes the connection, if the endpoint ${title}`, () =>
      Effect.gen(function* () {
        const { port, opened, closed } = yield* startSlowEndpoint(text)
        const fiber = yield* Effect.forkChild(send(`${protocol}://127.0.0.1:${port}/`))
        yield* opened
        yield* TestClock.adjust(14_999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.await(fiber), timedOut)
        yield* closed
      })
    )
  }

  it.effect("does not wait longer while a body arrives byte by byte", () =>
    Effect.gen(function* () {
      const { port, opened, closed } = yield* startSlowEndpoint(head)
      const fiber = yield* Effect.forkChild(send(`http://127.0.0.1:${port}/`))
      const socket = yield* opened
      for (let second = 1; second < 15; second++) {
        yield* Effect.callback<void>((resume) => void socket.write("x", () => resume(Effect.void)))
        yield* TestClock.adjust(1_000)
        assert.isUndefined(fiber.pollUnsafe())
      }
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* Fiber.await(fiber), timedOut)
      yield* closed
    })
  )

  it.effect("counts the time of the resolution", () =>
    Effect.gen(function* () {
      const { port, opened } = yield* startSlowEndpoint("")
      const resolve = () => Effect.as(Effect.sleep(4_000), ["127.0.0.1"])
      const fiber = yield* Effect.forkChild(
        send(`http://hooks.example:${port}/`).pipe(
          Effect.provideService(WebhookResolver, { resolvePublic: resolve, resolvePrivate: resolve })
        )
      )
      yield* TestClock.adjust(4_000)
      yield* opened
      yield* TestClock.adjust(10_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.await(fiber), timedOut)
    })
  )

  it.effect("fails after 5 seconds if the DNS does not answer", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(provideSilentResolver(send("http://hooks.example/")))
      yield* TestClock.adjust(5_000)
      const reason = 'the host "hooks.example" could not be resolved'
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.fail(new WebhookSendError({ reason })))
    })
  )

  it.effect("closes the connection when it is interrupted", () =>
    Effect.gen(function* () {
      const { port, opened, closed } = yield* startSlowEndpoint(head)
      const fiber = yield* Effect.forkChild(send(`http://127.0.0.1:${port}/`))
      yield* opened
      yield* Fiber.interrupt(fiber)
      yield* closed
    })
  )
})
