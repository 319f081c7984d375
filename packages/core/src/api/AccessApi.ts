/**
 * Declares the operation that describes the caller. `http/getCaller.ts` implements it: in process there is no caller.
 */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { PrincipalShape } from "../access/Principal.ts"
import { Authenticated } from "./Authenticated.ts"
import type { CheckMethods, Expect } from "./checkMethods.ts"
import type { CallOptions } from "./Methods.ts"
import { Owner } from "./Owner.ts"

const { account, access, id, name, permissions } = PrincipalShape.fields

/** The authenticated caller. `accountName` is `*` for a caller for all accounts. */
export const Caller = Schema.Struct({ accountName: account, access, id, name, permissions }).annotate({
  identifier: "Caller"
})
/** The caller that a token authenticates, as plain JSON. */
export type CallerJson = typeof Caller.Encoded

export class AccessApi extends HttpApiGroup.make("access")
  .add(
    HttpApiEndpoint.get("me", "/me", { success: Caller })
      .annotate(OpenApi.Summary, "Get the caller")
      .annotate(
        OpenApi.Description,
        "Returns whom the token authenticates: its account (`*` for all accounts), its access (`read` or " +
          "`write`), its permissions if it has some of its own, its id, and its name if it has one. Any valid credential may call it, so it is also a way to check a token."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Owner, "caller")
  .annotateMerge(OpenApi.annotations({ title: "Access", description: "The caller of a request." })) {}

/** Asks the server about the caller's own token. */
export interface AccessMethods {
  /** Returns whom the token authenticates: its account (`*` for all accounts), its access, and its id. */
  me(options?: CallOptions): Promise<CallerJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof AccessApi, AccessMethods>>
