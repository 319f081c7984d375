import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { checkWebhookUrl } from "../src/checkWebhookUrl.ts"
import { HostNotFound, ResolutionFailed } from "../src/ResolutionError.ts"
import { InvalidWebhookUrl } from "../src/WebhookError.ts"
import { type DnsAnswer, makeResolver, provideSilentResolver } from "./resolvers.ts"

const publicAnswer = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]

/** These are refused without a DNS query: the resolver would have said that they are public. */
const refusedUrls: ReadonlyArray<readonly [url: string, problem: string]> = [
  ["", "the URL is not valid"],
  ["hooks.example/x", "the URL is not valid"],
  ["https://", "the URL is not valid"],
  ["https://hooks.example:70000", "the URL is not valid"],
  ["https://[fe80::1%25eth0]/", "the URL is not valid"],
  ["https://1.2.3.4.5/", "the URL is not valid"],
  ["https://0x100000000/", "the URL is not valid"],
  ["http://hooks.example", "the URL must begin with https://"],
  ["ftp://hooks.example", "the URL must begin with https://"],
  ["file:///etc/passwd", "the URL must begin with https://"],
  ["gopher://127.0.0.1:6379/_", "the URL must begin with https://"],
  ["https://user@hooks.example", "the URL must not contain a user name or password"],
  ["https://:secret@hooks.example", "the URL must not contain a user name or password"],
  ["https://hooks.example@127.0.0.1", "the URL must not contain a user name or password"],
  ["https://127.0.0.1", 'the host "127.0.0.1" is not public'],
  ["https://127.0.0.1.", 'the host "127.0.0.1" is not public'],
  ["https://127.1", 'the host "127.0.0.1" is not public'],
  ["https://0x7f.1", 'the host "127.0.0.1" is not public'],
  ["https://2130706433", 'the host "127.0.0.1" is not public'],
  ["https://017700000001", 'the host "127.0.0.1" is not public'],
  ["https://0177.0.0.1", 'the host "127.0.0.1" is not public'],
  ["https://%31%32%37.0.0.1", 'the host "127.0.0.1" is not public'],
  ["https://１２７.０.０.１", 'the host "127.0.0.1" is not public'],
  ["https://127。0。0。1", 'the host "127.0.0.1" is not public'],
  ["https://①②⑦.0.0.1", 'the host "127.0.0.1" is not public'],
  ["https:\\\\127.0.0.1\\", 'the host "127.0.0.1" is not public'],
  ["  https:127.0.0.1\n", 'the host "127.0.0.1" is not public'],
  ["https://0", 'the host "0.0.0.0" is not public'],
  ["https://169.254.169.254/latest/meta-data", 'the host "169.254.169.254" is not public'],
  ["https://0xa9fea9fe", 'the host "169.254.169.254" is not public'],
  ["https://10.0.0.1:8443", 'the host "10.0.0.1" is not public'],
  ["https://[::1]", 'the host "::1" is not public'],
  ["https://[::]", 'the host "::" is not public'],
  ["https://[::ffff:127.0.0.1]", 'the host "::ffff:7f00:1" is not public'],
  ["https://[0:0:0:0:0:ffff:a9fe:a9fe]", 'the host "::ffff:a9fe:a9fe" is not public'],
  ["https://[64:ff9b::10.0.0.1]", 'the host "64:ff9b::a00:1" is not public'],
  ["https://[2002:7f00:1::]", 'the host "2002:7f00:1::" is not public'],
  ["https://[fd00::1]", 'the host "fd00::1" is not public'],
  ["https://[fe80::1]", 'the host "fe80::1" is not public'],
  ["https://localhost", 'the host "localhost" is not public'],
  ["https://LOCALHOST:8443/x", 'the host "localhost" is not public'],
  ["https://localhost.", 'the host "localhost." is not public'],
  ["https://ⓛocalhost", 'the host "localhost" is not public'],
  ["https://api.localhost", 'the host "api.localhost" is not public'],
  ["https://api.localhost.", 'the host "api.localhost." is not public'],
  ["https://printer.local", 'the host "printer.local" is not public'],
  ["https://metadata.google.internal/", 'the host "metadata.google.internal" is not public'],
  ["https://metadata.google.internal./", 'the host "metadata.google.internal." is not public'],
  ["https://redis", 'the host "redis" is not public'],
  [`https://hooks.example/${"x".repeat(2_048)}`, "the URL has more than 2048 characters"]
]

const acceptedUrls = [
  "https://hooks.example",
  "https://hooks.example:8443/a?b=c",
  "https://hooks.example.",
  "https://bücher.example/",
  "https://localhost.example",
  "https://93.184.215.14/",
  "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/"
]

const notPublic = 'the host "hooks.example" is not public'

const refusedAnswers: ReadonlyArray<readonly [answer: DnsAnswer, problem: string]> = [
  [["127.0.0.1"], notPublic],
  [["10.1.2.3"], notPublic],
  [["169.254.169.254"], notPublic],
  [["::1"], notPublic],
  [["::ffff:93.184.215.14"], notPublic],
  [["64:ff9b::5db8:d70e"], notPublic],
  [["fe80::1%eth0"], notPublic],
  [["93.184.215.14", "192.168.0.1"], notPublic],
  [["192.168.0.1", "93.184.215.14"], notPublic],
  [["93.184.215.14", "fd00::1"], notPublic],
  [["not an address"], notPublic],
  [[], 'the host "hooks.example" has no address'],
  [
    Array.from({ length: 33 }, (_, index) => `93.184.215.${index}`),
    'the host "hooks.example" has more than 32 addresses'
  ],
  [new HostNotFound(), 'the host "hooks.example" does not exist']
]

const describeAnswer = (answer: DnsAnswer) => (answer instanceof Error ? answer._tag : answer.join(", ").slice(0, 60))

describe("checkWebhookUrl", () => {
  for (const [url, problem] of refusedUrls) {
    it.effect(`refuses ${JSON.stringify(url.slice(0, 60))}`, () =>
      Effect.gen(function* () {
        const { hosts, provide } = makeResolver(publicAnswer)
        assert.deepStrictEqual(
          yield* Effect.flip(provide(checkWebhookUrl(url, false, "acme"))),
          new InvalidWebhookUrl({ problem })
        )
        assert.deepStrictEqual(hosts, [])
      })
    )
  }

  for (const url of acceptedUrls) {
    it.effect(`accepts ${url}`, () => makeResolver(publicAnswer).provide(checkWebhookUrl(url, false, "acme")))
  }

  for (const [answer, problem] of refusedAnswers) {
    it.effect(`refuses a host that resolves to ${describeAnswer(answer) || "nothing"}`, () =>
      Effect.gen(function* () {
        const { hosts, provide } = makeResolver(answer)
        const error = yield* Effect.flip(provide(checkWebhookUrl("https://hooks.example/x", false, "acme")))
        assert.deepStrictEqual(error, new InvalidWebhookUrl({ problem }))
        assert.deepStrictEqual(hosts, ["hooks.example"])
      })
    )
  }

  it.effect("accepts a host while the DNS fails", () =>
    makeResolver(new ResolutionFailed()).provide(checkWebhookUrl("https://hooks.example", false, "acme"))
  )

  it.effect("accepts a host if the DNS does not answer for 5 seconds", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        provideSilentResolver(checkWebhookUrl("https://hooks.example", false, "acme"))
      )
      yield* TestClock.adjust(4_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.void)
    })
  )

  it.effect("says in its detail what is wrong, without the internal address", () =>
    Effect.gen(function* () {
      const { detail } = yield* Effect.flip(
        makeResolver(["10.1.2.3"]).provide(checkWebhookUrl("https://hooks.example", false, "acme"))
      )
      assert.strictEqual(detail, 'Webhooks cannot be sent to this URL: the host "hooks.example" is not public')
    })
  )
})

describe("checkWebhookUrl with private networks allowed", () => {
  for (const url of [
    "http://localhost:3000/x",
    "http://10.0.0.1",
    "https://[::1]/",
    "http://redis",
    "https://a.internal"
  ]) {
    it.effect(`accepts ${url}`, () => makeResolver(["127.0.0.1"]).provide(checkWebhookUrl(url, true, "acme")))
  }

  for (const url of ["ftp://hooks.example", "https://user:secret@hooks.example", "hooks.example"]) {
    it.effect(`still refuses ${url}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(makeResolver(["127.0.0.1"]).provide(checkWebhookUrl(url, true, "acme")))
        assert.instanceOf(error, InvalidWebhookUrl)
      })
    )
  }

  it.effect("still refuses a host that does not exist", () =>
    Effect.gen(function* () {
      const { provide } = makeResolver(new HostNotFound())
      const { problem } = yield* Effect.flip(provide(checkWebhookUrl("http://hooks.example", true, "acme")))
      assert.strictEqual(problem, 'the host "hooks.example" does not exist')
    })
  )
})
