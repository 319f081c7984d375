/**
 * Results that are followed as server-sent events. A stream is a loop: it reads what follows the last event, and waits. It
 * holds one chunk in memory, reads nothing while the client does not, and resumes anywhere with `Last-Event-ID`, also in
 * another process. Streams are few, end by themselves, and end when the credential may not read any more.
 */
import { isTollgateError, ServerBusy, type TransportResponse } from "@tollgate/store/internal"
import { Cause, Clock, Effect, Option, Stream } from "effect"
import { Sse } from "effect/encoding"
import type { PrincipalShape } from "../access/Principal.ts"
import type { EventStreamShape } from "../api/withEventStream.ts"
import { RateLimited } from "../rateLimits/RateLimitError.ts"
import { formatEvents } from "./formatEvents.ts"
import { toProblemResponse } from "./problemResponse.ts"
import { RequestContext } from "./RequestContext.ts"
import { watchBody } from "./watchBody.ts"

/** Open streams of one account, and of this process. */
const maxOfAccount = 20
const maxOpen = 1_000
const pollIntervalMs = 1_000
/** A comment is sent at this interval, so that proxies keep the connection open. */
const heartbeatMs = 15_000
/** How long a stream may go on after its credential was revoked. */
const authorizeMs = 10_000
/** Then the client resumes with another request. */
const maxDurationMs = 600_000

const heartbeat = ":\n\n"
/** When a client resumes whose stream has ended. Sent at once, so that it knows that the stream is open. */
const opening = `retry: ${pollIntervalMs}\n\n`

export interface EventSource {
  readonly shape: EventStreamShape<unknown>
  /** Whose streams are counted together. */
  readonly owner: string
  readonly after: string | undefined
  readonly principal: PrincipalShape
  /** Authenticates the caller again. */
  readonly authorize: Effect.Effect<PrincipalShape, unknown, RequestContext>
  /** Reads what follows the event with the id `after`. */
  readonly read: (
    principal: PrincipalShape,
    after: string | undefined
  ) => Effect.Effect<unknown, unknown, RequestContext>
}

interface State {
  readonly after: string | undefined
  readonly principal: PrincipalShape
  readonly authorizedAt: number
  readonly sentAt: number
}

type Step = readonly [chunks: ReadonlyArray<string>, next: Option.Option<State>]

const end: Step = [[], Option.none()]

/** Counts the open streams. A stream leaves once. */
const makeLane = () => {
  const openOf = new Map<string, number>()
  let open = 0
  return (owner: string) =>
    Effect.suspend((): Effect.Effect<() => void, RateLimited | ServerBusy> => {
      const count = openOf.get(owner) ?? 0
      if (count >= maxOfAccount) {
        const [limit, retryAfterMs] = ["open-streams", pollIntervalMs]
        const policy = { name: limit, limit: maxOfAccount, per: undefined, remaining: 0, resetAfterMs: retryAfterMs }
        const detail = `At most ${maxOfAccount} streams of an account can be open at once. End one, or read the JSON instead.`
        return Effect.fail(new RateLimited({ limit, retryAfterMs, policy, detail }))
      }
      if (open >= maxOpen) return Effect.fail(new ServerBusy())
      openOf.set(owner, count + 1)
      open++
      let hasLeft = false
      return Effect.succeed(() => {
        if (hasLeft) return
        hasLeft = true
        open--
        const left = (openOf.get(owner) ?? 1) - 1
        if (left === 0) openOf.delete(owner)
        else openOf.set(owner, left)
      })
    })
}

/** Tells the client why the stream ends, if it is because of the request. Otherwise the client resumes. */
const toLastStep = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (!isTollgateError(error) || error.status >= 500) return Effect.succeed(end)
  return Effect.map(toProblemResponse(error), ({ body }): Step => {
    const event = { _tag: "Event", id: undefined, event: "problem", data: String(body) } as const
    return [[Sse.encoder.write(event)], Option.none()]
  })
}

const makeSteps = ({ shape, authorize, read }: EventSource, startedAt: number) => {
  /** What a result adds to the stream. */
  const toStep = (state: State, value: unknown, now: number): Step => {
    const { text, lastId } = formatEvents(shape, value, state.after)
    const chunks = text !== "" ? [text] : now - state.sentAt >= heartbeatMs ? [heartbeat] : []
    if (shape.isOver(value)) return [chunks, Option.none()]
    const sentAt = chunks.length === 0 ? state.sentAt : now
    return [chunks, Option.some({ ...state, after: lastId, sentAt })]
  }

  const readNext = (state: State): Effect.Effect<Step, never, RequestContext> =>
    Effect.gen(function* () {
      yield* Effect.sleep(pollIntervalMs)
      const now = yield* Clock.currentTimeMillis
      if (now - startedAt >= maxDurationMs) return end
      const isAuthorized = now - state.authorizedAt < authorizeMs
      const current = isAuthorized ? state : { ...state, principal: yield* authorize, authorizedAt: now }
      return toStep(current, yield* read(current.principal, current.after), now)
    }).pipe(Effect.catchCause(toLastStep))

  return { toStep, readNext }
}

const headers = {
  "content-type": "text/event-stream",
  // Proxies must neither keep parts back nor change them.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  vary: "Accept"
}

/** Makes the function that responds with a stream of events. `leave` is called when it has ended. */
const open = Effect.fnUntraced(function* (source: EventSource, leave: () => void) {
  const startedAt = yield* Clock.currentTimeMillis
  const { toStep, readNext } = makeSteps(source, startedAt)
  const { principal, after } = source
  const state: State = { after, principal, authorizedAt: startedAt, sentAt: startedAt }
  // Before the response begins, so that an error is a response of its own.
  const [chunks, next] = toStep(state, yield* source.read(principal, after), startedAt)
  if (chunks.length === 0 && Option.isNone(next)) {
    leave()
    // A browser does not resume after it.
    return { status: 204, headers: {}, body: undefined } satisfies TransportResponse
  }
  const rest = Option.match(next, { onNone: () => Stream.empty, onSome: (state) => Stream.paginate(state, readNext) })
  const bytes = Stream.encodeText(Stream.concat(Stream.make(opening + chunks.join("")), rest))
  const { request } = yield* RequestContext
  const body = Stream.toReadableStreamWith(
    Stream.ensuring(bytes, Effect.sync(leave)),
    yield* Effect.context<RequestContext>(),
    { strategy: { highWaterMark: 0 }, signal: request.signal() }
  )
  return { status: 200, headers, body: watchBody(body, leave) } satisfies TransportResponse
})

export const makeEventStreams = () => {
  const enter = makeLane()
  /** Responds with a stream of events. Fails if too many are open. */
  return (source: EventSource): Effect.Effect<TransportResponse, unknown, RequestContext> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(enter(source.owner), (leave) =>
        restore(open(source, leave)).pipe(Effect.onError(() => Effect.sync(leave)))
      )
    )
}
