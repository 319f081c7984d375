import { Effect } from "effect"
import type { Authenticator } from "../access/Authenticator.ts"
import { parseBearerToken } from "../access/parseBearerToken.ts"
import type { ConsoleSessions } from "./ConsoleSessions.ts"

/** Accepts session tokens of the console, and passes every other request on to the configured authenticator. */
export const acceptSessions = (
  { authenticate }: Authenticator["Service"],
  sessions: ConsoleSessions["Service"]
): Authenticator["Service"] => ({
  authenticate: (request) => {
    const token = parseBearerToken(request.headers["authorization"])
    if (token === undefined) return authenticate(request)
    return Effect.flatMap(sessions.authenticate(token), (principal) =>
      principal === undefined ? authenticate(request) : Effect.succeed(principal)
    )
  }
})
