import { createServer } from "node:https"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sendWebhook } from "../src/sendWebhook.ts"
import { certificate } from "./certificate.ts"
import { listen, startTextEndpoint } from "./endpoints.ts"
import { makeResolver } from "./resolvers.ts"

/** Trusts a certificate in this process, as an operator does with NODE_EXTRA_CA_CERTS, until the scope closes. */
const trust = (cert: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = getCACertificates("default")
      setDefaultCACertificates([...before, cert])
      return before
    }),
    (before) => Effect.sync(() => setDefaultCACertificates(before))
  )

const startTlsEndpoint = Effect.gen(function* () {
  const requests: Array<string | undefined> = []
  const server = createServer(certificate, (request, response) => {
    requests.push(request.headers.host)
    response.writeHead(204).end()
  })
  const { port } = yield* listen(server)
  return { port, requests, cert: certificate.cert }
})

const send = (url: string) =>
  makeResolver(["127.0.0.1"])
    .provide(sendWebhook({ url, headers: {}, body: "{}", allowPrivateNetworks: true }))
    .pipe(Effect.catchTag("ResolverBusy", Effect.die))

describe("sendWebhook over TLS", () => {
  it.effect("sends to a host whose certificate is trusted and has its name", () =>
    Effect.gen(function* () {
      const { port, requests, cert } = yield* startTlsEndpoint
      yield* trust(cert)
      assert.strictEqual((yield* send(`https://hooks.example:${port}/`)).statusCode, 204)
      assert.deepStrictEqual(requests, [`hooks.example:${port}`])
    })
  )

  for (const host of ["other.example", "127.0.0.1"]) {
    it.effect(`sends nothing to ${host} if the certificate is for another host`, () =>
      Effect.gen(function* () {
        const { port, requests, cert } = yield* startTlsEndpoint
        yield* trust(cert)
        const { reason } = yield* Effect.flip(send(`https://${host}:${port}/`))
        assert.strictEqual(reason, "TLS: the certificate is for another host")
        assert.deepStrictEqual(requests, [])
      })
    )
  }

  it.effect("sends nothing to a host whose certificate is not trusted", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* startTlsEndpoint
      const { reason } = yield* Effect.flip(send(`https://hooks.example:${port}/`))
      assert.strictEqual(reason, "TLS: the certificate is self-signed")
      assert.deepStrictEqual(requests, [])
    })
  )

  it.effect("fails if the endpoint does not speak TLS", () =>
    Effect.gen(function* () {
      const { port } = yield* startTextEndpoint("HTTP/1.1 400 Bad Request\r\n\r\n")
      const { reason } = yield* Effect.flip(send(`https://hooks.example:${port}/`))
      assert.strictEqual(reason, "TLS: the handshake failed")
    })
  )
})
