/**
 * Lists as lines of JSON or CSV, to their end. A stream holds one page in memory, and reads the next when the client has it. A body
 * that ends is the whole list: if the list cannot be read to its end, or the credential may not read any more, the body
 * breaks off.
 */
import { nextTurn, type TransportResponse } from "@tollgate/store/internal"
import { Clock, Effect, type Exit, Option, Stream } from "effect"
import type { PrincipalShape } from "../access/Principal.ts"
import { csvType } from "../api/withCsv.ts"
import { linesType } from "../api/withLines.ts"
import { encodeItems, type Page } from "./encodePage.ts"
import { RequestContext } from "./RequestContext.ts"

/** How long a stream may go on after its credential was revoked. */
const authorizeMs = 10_000

export interface LineSource {
  readonly principal: PrincipalShape
  /** Authenticates the caller again. */
  readonly authorize: Effect.Effect<PrincipalShape, unknown, RequestContext>
  /** Reads a page: the one that was asked for, or what follows the `next` of another. */
  readonly read: (principal: PrincipalShape, after: string | undefined) => Effect.Effect<Page, unknown, RequestContext>
  readonly encode: (page: Page) => Exit.Exit<unknown, unknown>
  /** Writes a page as CSV, with the names of the columns first, if that was asked for. */
  readonly toCsv?: ((page: Page) => string) | undefined
}

interface State {
  readonly principal: PrincipalShape
  readonly authorizedAt: number
  readonly after: string | undefined
}

/** Of all pages, the first one has the names of the columns. */
const toCsvLines = (csv: string, isFirst: boolean): string => (isFirst ? csv : csv.slice(csv.indexOf("\r\n") + 2))

const toLines = Effect.fnUntraced(function* (page: Page, encode: LineSource["encode"]) {
  const lines: Array<string> = []
  for (const part of encodeItems(page, encode)) {
    const { items } = yield* part
    lines.push(items.map((item) => `${item}\n`).join(""))
    yield* nextTurn
  }
  return lines
})

/** Responds with the items of a list. Before the response begins, an error is a response of its own. */
export const streamLines = Effect.fnUntraced(function* ({ principal, authorize, read, encode, toCsv }: LineSource) {
  const readNext = Effect.fnUntraced(function* (state: State) {
    const now = yield* Clock.currentTimeMillis
    const isAuthorized = now - state.authorizedAt < authorizeMs
    const current = isAuthorized ? state : { ...state, principal: yield* authorize, authorizedAt: now }
    const page = yield* read(current.principal, state.after)
    const next = Option.map(Option.fromNullishOr(page.next), (after): State => ({ ...current, after }))
    const isFirst = state.after === undefined
    const lines = toCsv === undefined ? yield* toLines(page, encode) : [toCsvLines(toCsv(page), isFirst)]
    return [lines, next] as const
  })
  const authorizedAt = yield* Clock.currentTimeMillis
  const [lines, next] = yield* readNext({ principal, authorizedAt, after: undefined })
  const rest = Option.match(next, { onNone: () => Stream.empty, onSome: (state) => Stream.paginate(state, readNext) })
  const { request } = yield* RequestContext
  const body = Stream.toReadableStreamWith(
    Stream.encodeText(Stream.concat(Stream.fromIterable(lines), rest)),
    yield* Effect.context<RequestContext>(),
    { strategy: { highWaterMark: 0 }, signal: request.signal() }
  )
  const headers = { "content-type": toCsv === undefined ? linesType : csvType, vary: "Accept" }
  return { status: 200, headers, body } satisfies TransportResponse
})
