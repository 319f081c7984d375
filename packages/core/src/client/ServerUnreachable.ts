import { addHidden, defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

/**
 * The client got no response, or one that is not from Tollgate. With the outcome `unknown`, the server may have applied
 * the call: retry it with the same `idempotencyKey`.
 */
export class ServerUnreachable extends defineError<ServerUnreachable>()(
  "ServerUnreachable",
  {
    code: "server-unreachable",
    status: 502,
    title: "Server unreachable",
    meaning:
      "The client got no response in time, or one that it cannot use: not from Tollgate, or a 404 or 405 because `baseUrl` " +
      "or the version is wrong.",
    remedy:
      "Check `baseUrl` and the network. If `outcome` is `unknown`, repeat the call with the same `idempotencyKey`, " +
      "so that it is applied only once; before updates and removals, which take none, read the resource.",
    isSentOverHttp: false,
    detail: ({ outcome }) =>
      "The server cannot be reached, or its response is not from Tollgate. Check baseUrl. " +
      (outcome === "not-applied"
        ? "Nothing was changed; try again."
        : "The call may or may not have been applied. Retry it with the same idempotencyKey, so that it is applied only once.")
  },
  {
    outcome: Schema.Literals(["not-applied", "unknown"]).annotate({
      description: "Whether the call had an effect: it had none, or it may have been applied."
    })
  }
) {
  constructor(members: { readonly outcome: "not-applied" | "unknown"; readonly cause?: unknown }) {
    const { cause, ...rest } = members
    super(rest)
    addHidden(this, { cause })
  }
}
