/**
 * Serves the console: its page, its files, and the exchange of a link's code for a session token.
 */
import {
  addSettings,
  Forbidden,
  formatTimestamp,
  isCrossSite,
  listAllPermissions,
  makeAppRoutes,
  makeDecoder,
  RequestContext,
  type RouteHandler,
  type ServedRoute,
  shortBody
} from "@tollgate/core/module"
import { Sessions } from "@tollgate/tokens"
import { Effect, Schema } from "effect"
import { type Console, sessionFile } from "./Console.ts"
import { ConsoleCodeInvalid } from "./ConsoleError.ts"
import type { ConsoleOptions } from "./ConsoleSettings.ts"

/** What one needs to open the page of a customer, if there is such a module. */
const portalPermission = "portal:write"

/** Longer than any code. */
const maxCodeLength = 1_024

const SessionRequest = Schema.Struct({
  code: Schema.String.pipe(Schema.check(Schema.isMaxLength(maxCodeLength)))
})
const decodeSessionRequest = makeDecoder(SessionRequest, "body", { onExcessProperty: "error" })

export const makeConsoleRoutes = Effect.fnUntraced(function* ({ files }: Console, settings: ConsoleOptions) {
  const { exchange } = yield* Sessions
  const hasPortal = (yield* listAllPermissions).includes(portalPermission)
  const page = { ...settings, ...(hasPortal ? { portalPermission } : {}) }

  const createSession: RouteHandler = Effect.fnUntraced(function* (request) {
    if (isCrossSite(request)) {
      return yield* new Forbidden({ detail: "Cross-site requests are refused. Open the link to the console itself." })
    }
    const { value } = yield* (yield* RequestContext).readBody(shortBody)
    const { code } = yield* decodeSessionRequest(value)
    const session = yield* exchange(code)
    if (session === undefined) return yield* new ConsoleCodeInvalid()
    const { token, expiresOn } = session
    const body = JSON.stringify({ token, expiresOn: formatTimestamp(expiresOn) })
    return { status: 200, headers: { "content-type": "application/json" }, body }
  })

  const routes: ReadonlyArray<ServedRoute> = [
    ...makeAppRoutes(
      "console",
      files.map((file) => addSettings(file, page)),
      sessionFile
    ),
    { method: "POST", path: `/console/${sessionFile}`, handler: createSession }
  ]
  return routes
})
