/**
 * Streams of events, without a connection: how long they last, what they cost while nobody reads, and how many there are.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName, StoreUnavailable, type TransportResponse } from "@tollgate/store/internal"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Forbidden, Unauthorized } from "../../src/access/AccessError.ts"
import type { PrincipalShape } from "../../src/access/Principal.ts"
import { type EventSource, makeEventStreams } from "../../src/http/eventStreams.ts"
import { RequestContext } from "../../src/http/RequestContext.ts"
import { flushEventLoop } from "../processes.ts"

const principal: PrincipalShape = { id: "token", account: AccountName.make("acme"), access: "read" }

interface Log {
  readonly lines: Array<string>
  isOver: boolean
  reads: number
  authentications: number
}

/** A source whose events are the lines of a log after a number. */
const makeSource = (options: Partial<EventSource> = {}) => {
  const log: Log = { lines: [], isOver: false, reads: 0, authentications: 0 }
  const source: EventSource = {
    shape: {
      isOver: () => log.isOver,
      toEvents: (value) => value as ReadonlyArray<{ readonly id: string; readonly data: string }>
    },
    owner: "acme",
    after: undefined,
    principal,
    authorize: Effect.sync(() => {
      log.authentications++
      return principal
    }),
    read: (_, after) =>
      Effect.sync(() => {
        log.reads++
        return log.lines.map((data, index) => ({ id: String(index + 1), data })).slice(Number(after ?? 0))
      }),
    ...options
  }
  return { log, source }
}

type OpenStream = ReturnType<typeof makeEventStreams>

const send = (open: OpenStream, source: EventSource, { signal } = new AbortController()) => {
  const context = { request: { signal: () => signal } } as RequestContext["Service"]
  return open(source).pipe(Effect.provideService(RequestContext, context))
}

const getTag = (response: Effect.Effect<unknown, unknown>) =>
  Effect.map(Effect.flip(response), (error) => (error as { readonly _tag?: string })._tag)

const getReader = ({ body }: TransportResponse) =>
  body instanceof ReadableStream ? body.getReader() : assert.fail("There is no stream")

type Reader = ReturnType<typeof getReader>

/** Reads the next chunk, and moves the clock second by second until there is one. `undefined` at the end. */
const read = (reader: Reader) =>
  Effect.gen(function* () {
    let result: { readonly text: string | undefined } | undefined
    reader.read().then(
      ({ value }) => {
        result = { text: value && new TextDecoder().decode(value) }
      },
      (error) => {
        result = { text: `failed: ${error}` }
      }
    )
    for (let seconds = 0; seconds < 1_000; seconds++) {
      for (let turn = 0; turn < 5 && result === undefined; turn++) yield* flushEventLoop
      if (result !== undefined) return { text: result.text, seconds }
      yield* TestClock.adjust("1 second")
    }
    return assert.fail("There is no chunk")
  })

describe("a stream of events", () => {
  it.effect("begins with what there is, and goes on with what is added, until the end", () =>
    Effect.gen(function* () {
      const { log, source } = makeSource()
      log.lines.push("one", "two\nlines")
      const response = yield* send(makeEventStreams(), source)
      assert.deepInclude(response, { status: 200 })
      assert.strictEqual(response.headers["content-type"], "text/event-stream")
      const reader = getReader(response)
      const first = "id: 1\ndata: one\n\nid: 2\ndata: two\ndata: lines\n\n"
      assert.deepStrictEqual(yield* read(reader), { text: `retry: 1000\n\n${first}`, seconds: 0 })
      log.lines.push("three")
      assert.deepStrictEqual(yield* read(reader), { text: "id: 3\ndata: three\n\n", seconds: 1 })
      log.lines.push("four")
      log.isOver = true
      assert.deepStrictEqual(yield* read(reader), { text: "id: 4\ndata: four\n\n", seconds: 1 })
      assert.deepStrictEqual(yield* read(reader), { text: undefined, seconds: 0 })
    })
  )

  it.effect("resumes after an event, and is 204 if nothing follows", () =>
    Effect.gen(function* () {
      const open = makeEventStreams()
      const { log, source } = makeSource()
      log.lines.push("one", "two")
      const resumed = getReader(yield* send(open, { ...source, after: "1" }))
      assert.strictEqual((yield* read(resumed)).text, "retry: 1000\n\nid: 2\ndata: two\n\n")
      log.isOver = true
      assert.deepInclude(yield* send(open, { ...source, after: "2" }), { status: 204, body: undefined })
    })
  )

  it.effect("sends a comment every 15 seconds, and ends after 10 minutes", () =>
    Effect.gen(function* () {
      const { source } = makeSource()
      const reader = getReader(yield* send(makeEventStreams(), source))
      assert.strictEqual((yield* read(reader)).text, "retry: 1000\n\n")
      let passed = 0
      for (let beat = 1; ; beat++) {
        const { text, seconds } = yield* read(reader)
        passed += seconds
        if (text === undefined) break
        assert.deepStrictEqual([text, seconds], [":\n\n", 15], `beat ${beat}`)
      }
      assert.strictEqual(passed, 600)
    })
  )

  it.effect("authenticates its caller again every 10 seconds, and ends when it may not read any more", () =>
    Effect.gen(function* () {
      for (const error of [new Unauthorized(), new Forbidden()]) {
        let isRevoked = false
        const made = makeSource()
        const authorize = Effect.suspend(() => (isRevoked ? Effect.fail(error) : made.source.authorize))
        const reader = getReader(yield* send(makeEventStreams(), { ...made.source, authorize }))
        yield* read(reader)
        yield* read(reader)
        assert.strictEqual(made.log.authentications, 1)
        isRevoked = true
        const { text = "", seconds } = yield* read(reader)
        assert.isAtMost(seconds, 10)
        assert.match(text, new RegExp(`^event: problem\ndata: {.*"status":${error.status}.*}\n\n$`))
        assert.strictEqual((yield* read(reader)).text, undefined)
      }
    })
  )

  it.effect("ends without an event when the server cannot read, so that the client resumes", () =>
    Effect.gen(function* () {
      let isAway = false
      const unavailable = new StoreUnavailable({
        operation: "list",
        problem: "away",
        retryable: true,
        outcome: "not-applied"
      })
      for (const error of [Effect.fail(unavailable), Effect.die("a defect")]) {
        isAway = false
        const made = makeSource()
        const source: EventSource = {
          ...made.source,
          read: (...args) => (isAway ? error : made.source.read(...args))
        }
        const reader = getReader(yield* send(makeEventStreams(), source))
        yield* read(reader)
        isAway = true
        assert.deepStrictEqual(yield* read(reader), { text: undefined, seconds: 1 })
        // Before the first event, it is the response.
        assert.strictEqual((yield* Effect.exit(send(makeEventStreams(), source)))._tag, "Failure")
      }
    })
  )

  it.effect("reads nothing while the client does not, and keeps one chunk at most", () =>
    Effect.gen(function* () {
      const { log, source } = makeSource()
      const response = yield* send(makeEventStreams(), source)
      for (let minute = 0; minute < 5; minute++) {
        log.lines.push("x".repeat(100_000))
        yield* TestClock.adjust("1 minute")
        yield* flushEventLoop
      }
      assert.strictEqual(log.reads, 1)
      yield* Effect.promise(() => getReader(response).cancel())
    })
  )

  it.effect("counts for its account until it has ended, failed or is left: 20 at once, and 1,000 of all", () =>
    Effect.gen(function* () {
      const open = makeEventStreams()
      const { log, source } = makeSource()
      const openMany = (owner: string, count: number) =>
        Effect.forEach(Array.from({ length: count }), () => send(open, { ...source, owner }))
      const responses = yield* openMany("acme", 20)
      const refused = yield* Effect.flip(send(open, source))
      assert.deepInclude(refused, { _tag: "RateLimited", limit: "open-streams", status: 429 })
      // One that is left.
      yield* Effect.promise(() => getReader(responses[0] ?? assert.fail()).cancel())
      const [again = assert.fail()] = yield* openMany("acme", 1)
      assert.strictEqual(yield* getTag(send(open, source)), "RateLimited")
      // One whose client disconnects.
      const controller = new AbortController()
      yield* Effect.promise(() => getReader(again).cancel())
      yield* send(open, source, controller)
      controller.abort()
      yield* flushEventLoop
      const [another = assert.fail()] = yield* openMany("acme", 1)
      assert.strictEqual(yield* getTag(send(open, source)), "RateLimited")
      // One that ends.
      const reader = getReader(another)
      yield* read(reader)
      log.isOver = true
      assert.strictEqual((yield* read(reader)).text, undefined)
      // One that fails, or has nothing to send, does not count.
      assert.deepInclude(yield* send(open, source), { status: 204 })
      yield* Effect.exit(send(open, { ...source, read: () => Effect.fail(new Unauthorized()) }))
      log.isOver = false
      yield* openMany("acme", 1)
      assert.strictEqual(yield* getTag(send(open, source)), "RateLimited")

      for (let owner = 1; owner < 50; owner++) yield* openMany(`account-${owner}`, 20)
      assert.deepInclude(yield* Effect.flip(send(open, { ...source, owner: "another" })), {
        _tag: "ServerBusy",
        status: 503
      })
    })
  )
})
