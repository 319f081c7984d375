import { createServer, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { sendWebhook, type WebhookRequest } from "../src/sendWebhook.ts"
import { generateWebhookSecret, signWebhook } from "../src/signWebhook.ts"
import { listen, startEndpoint, startTextEndpoint } from "./endpoints.ts"
import { makeResolver } from "./resolvers.ts"

const send = (url: string, rest: Partial<WebhookRequest> = {}) =>
  sendWebhook({ url, headers: {}, body: "{}", allowPrivateNetworks: true, ...rest }).pipe(
    Effect.catchTag("ResolverBusy", Effect.die)
  )

const sendTo = (port: number) => send(`http://127.0.0.1:${port}/`)

const flipReason = (sending: ReturnType<typeof send>) => Effect.map(Effect.flip(sending), ({ reason }) => reason)

const incomplete = "the connection was closed before the response was complete"

describe("sendWebhook", () => {
  it.effect("posts a message that the receiver can verify", () =>
    Effect.gen(function* () {
      const received: Array<{ readonly request: IncomingMessage; readonly body: string }> = []
      const server = createServer(async (request, response) => {
        received.push({ request, body: await text(request) })
        response.writeHead(202).end("thanks")
      })
      const { port } = yield* listen(server)
      const secret = yield* generateWebhookSecret
      const body = JSON.stringify({ type: "consumer.created", data: { name: "Zoë" } })
      const timestamp = Math.floor(Date.now() / 1000)
      const headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": String(timestamp),
        "webhook-signature": signWebhook([secret], "evt_1", timestamp, body)
      }
      const response = yield* send(`http://127.0.0.1:${port}/hooks?tenant=1#part`, { headers, body })
      assert.deepStrictEqual(response, { statusCode: 202, retryAfter: undefined })
      assert.strictEqual(received.length, 1)
      for (const { request, body } of received) {
        assert.strictEqual(`${request.method} ${request.url}`, "POST /hooks?tenant=1")
        assert.deepStrictEqual(request.headers, {
          ...headers,
          "content-type": "application/json",
          "user-agent": "Tollgate-Webhooks/1",
          "content-length": String(Buffer.byteLength(body)),
          host: `127.0.0.1:${port}`,
          connection: "close"
        })
        assert.deepStrictEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
      }
    })
  )

  it.effect("opens a connection for each message", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* listen(createServer((_, response) => void response.end()))
      yield* sendTo(port)
      yield* sendTo(port)
      assert.strictEqual(sockets.length, 2)
    })
  )

  it.effect("returns error statuses and Retry-After", () =>
    Effect.gen(function* () {
      const { port } = yield* startTextEndpoint(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n"
      )
      assert.deepStrictEqual(yield* sendTo(port), { statusCode: 503, retryAfter: "120" })
    })
  )

  it.effect("does not follow a redirect", () =>
    Effect.gen(function* () {
      const inside = yield* startTextEndpoint("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      const location = `http://127.0.0.1:${inside.port}/`
      const { port } = yield* startTextEndpoint(
        `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`
      )
      assert.strictEqual((yield* sendTo(port)).statusCode, 307)
      assert.strictEqual(inside.sockets.length, 0)
    })
  )

  it.effect("tries the next address if one refuses the connection", () =>
    Effect.gen(function* () {
      const { port } = yield* startTextEndpoint("HTTP/1.1 204 No Content\r\n\r\n")
      const { provide } = makeResolver(["127.0.0.2", "::1", "127.0.0.1"])
      assert.strictEqual((yield* provide(send(`http://hooks.example:${port}/`))).statusCode, 204)
    })
  )

  it.effect("reads a body of 64 KiB to its end", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* startTextEndpoint(
        `HTTP/1.1 200 OK\r\ncontent-length: 65536\r\n\r\n${"x".repeat(65_536)}`
      )
      assert.strictEqual((yield* sendTo(port)).statusCode, 200)
      assert.strictEqual(sockets.length, 1)
    })
  )

  it.effect("closes the connection after 64 KiB of an endless body", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const { port } = yield* startEndpoint((socket) => {
        socket.on("close", () => closed.resolve())
        const write = (): void => void socket.write(`10000\r\n${"x".repeat(65_536)}\r\n`, (error) => error ?? write())
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        write()
      })
      assert.strictEqual((yield* sendTo(port)).statusCode, 200)
      yield* Effect.promise(() => closed.promise)
    })
  )

  it.effect("accepts a few informational responses", () =>
    Effect.gen(function* () {
      const early = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n".repeat(10)
      const { port } = yield* startTextEndpoint(`${early}HTTP/1.1 204 No Content\r\n\r\n`)
      assert.strictEqual((yield* sendTo(port)).statusCode, 204)
    })
  )

  it.effect("closes the connection of an endpoint that floods informational responses", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const { port } = yield* startEndpoint((socket) => {
        socket.on("close", () => closed.resolve())
        const write = (): void =>
          void socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100), (error) => error ?? write())
        write()
      })
      assert.strictEqual(yield* flipReason(sendTo(port)), "too many informational responses")
      yield* Effect.promise(() => closed.promise)
    })
  )

  const failures: ReadonlyArray<readonly [title: string, response: string, reason: string]> = [
    ["is not HTTP", "220 mail.example ESMTP\r\n", "the response is not valid HTTP"],
    [
      "has headers of more than 16 KiB",
      `HTTP/1.1 200 OK\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
      "the response headers are too large"
    ],
    ["switches the protocol", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", incomplete]
  ]
  for (const [title, response, reason] of failures) {
    it.effect(`fails if the response ${title}`, () =>
      Effect.gen(function* () {
        const { port } = yield* startTextEndpoint(response)
        assert.strictEqual(yield* flipReason(sendTo(port)), reason)
      })
    )
  }

  it.effect("fails if the endpoint resets the connection", () =>
    Effect.gen(function* () {
      const { port } = yield* startEndpoint((socket) => void socket.resetAndDestroy())
      assert.strictEqual(yield* flipReason(sendTo(port)), incomplete)
    })
  )

  it.effect("fails if the endpoint closes the connection within the body", () =>
    Effect.gen(function* () {
      const { port } = yield* startEndpoint(
        (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
      )
      assert.strictEqual(yield* flipReason(sendTo(port)), incomplete)
    })
  )

  it.effect("fails if the connection is refused", () =>
    Effect.gen(function* () {
      const server = createServer()
      const port = yield* Effect.scoped(Effect.map(listen(server), ({ port }) => port))
      assert.strictEqual(yield* flipReason(sendTo(port)), "connection refused")
      const { provide } = makeResolver(["127.0.0.1", "127.0.0.2"])
      assert.strictEqual(yield* flipReason(provide(send(`http://hooks.example:${port}/`))), "connection refused")
    })
  )
})
