import { assert, describe, it } from "@effect/vitest"
import { eventually } from "@tollgate/testing"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeDnsResolver } from "../src/makeDnsResolver.ts"
import { HostNotFound, ResolutionFailed } from "../src/ResolutionError.ts"
import { type DnsReply, startDnsServer } from "./dnsServer.ts"

const ipv4 = ["93.184.215.14", "93.184.215.15"]
const ipv6 = ["2606:2800:021f:cb07:6820:80da:af6b:8b2c"]
const ipv6Short = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

const cases: ReadonlyArray<readonly [title: string, A: DnsReply, AAAA: DnsReply, exit: Exit.Exit<unknown, unknown>]> = [
  ["all addresses of both families", ipv4, ipv6, Exit.succeed([...ipv4, ipv6Short])],
  ["the addresses of a name that has one family", ipv4, [], Exit.succeed(ipv4)],
  ["the IPv4 addresses if the query for the others fails", ipv4, "servfail", Exit.succeed(ipv4)],
  ["no address of a name that has none", [], [], Exit.succeed([])],
  ["that a name does not exist", "nxdomain", "nxdomain", Exit.fail(new HostNotFound())],
  ["that the server failed", "servfail", "servfail", Exit.fail(new ResolutionFailed())],
  [
    "that the server failed for one family, and the other has no address",
    [],
    "servfail",
    Exit.fail(new ResolutionFailed())
  ],
  [
    "that the server failed, if it denies the name for one family only",
    "nxdomain",
    "servfail",
    Exit.fail(new ResolutionFailed())
  ]
]

describe("makeDnsResolver", () => {
  for (const [title, A, AAAA, exit] of cases) {
    it.effect(`tells ${title}`, () =>
      Effect.gen(function* () {
        const { server } = yield* startDnsServer({ "hooks.example": { A, AAAA } })
        assert.deepStrictEqual(yield* Effect.exit(makeDnsResolver([server])("hooks.example")), exit)
      })
    )
  }

  it.effect("takes a name that the DNS cannot express for one that does not exist", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.flip(makeDnsResolver()("a..example")), new HostNotFound())
    })
  )

  it.effect("uses the addresses of one family if the server is silent about the other for 4 seconds", () =>
    Effect.gen(function* () {
      const { server, queries } = yield* startDnsServer({ "hooks.example": { A: ipv4, AAAA: "silence" } })
      const fiber = yield* Effect.forkChild(makeDnsResolver([server])("hooks.example"))
      yield* Effect.promise(() =>
        eventually(() => assert.includeMembers(queries, ["hooks.example A", "hooks.example AAAA"]))
      )
      // A query of its own, so that the answer to the earlier one has arrived.
      yield* Effect.flip(makeDnsResolver([server])("other.example"))
      yield* TestClock.adjust(4_000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ipv4)
    })
  )

  it.effect("resolves 100 names at once, and the next when one of them is given up", () =>
    Effect.gen(function* () {
      const silent = { A: "silence", AAAA: "silence" } as const
      const { server, queries } = yield* startDnsServer({
        "silent.example": silent,
        "hooks.example": { A: ipv4, AAAA: [] }
      })
      const resolve = makeDnsResolver([server])
      const silentFibers = yield* Effect.forEach(Array.from({ length: 100 }), () =>
        Effect.forkChild(resolve("silent.example"))
      )
      const fiber = yield* Effect.forkChild(resolve("hooks.example"))
      yield* Effect.promise(() => eventually(() => assert.isAtLeast(queries.length, 200)))
      assert.notInclude(queries, "hooks.example A")
      yield* Effect.forEach(silentFibers.slice(0, 1), Fiber.interrupt)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ipv4)
      yield* TestClock.adjust(4_000)
      const exits = yield* Effect.forEach(silentFibers.slice(1), Fiber.await)
      for (const exit of exits) assert.deepStrictEqual(exit, Exit.fail(new ResolutionFailed()))
    })
  )
})
