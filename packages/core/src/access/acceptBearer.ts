import type { StoreError } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Authenticator } from "./Authenticator.ts"
import type { CallerShape } from "./Principal.ts"
import { parseBearerToken } from "./parseBearerToken.ts"

/** Accepts the bearer tokens that `recognize` knows, and passes every other request on. */
export const acceptBearer =
  (recognize: (value: string) => Effect.Effect<CallerShape | undefined, StoreError>) =>
  ({ authenticate }: Authenticator["Service"]): Authenticator["Service"] => ({
    authenticate: (request) => {
      const value = parseBearerToken(request.headers["authorization"])
      if (value === undefined) return authenticate(request)
      return Effect.flatMap(recognize(value), (caller) =>
        caller === undefined ? authenticate(request) : Effect.succeed(caller)
      )
    }
  })
