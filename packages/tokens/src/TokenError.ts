import { defineError } from "@tollgate/core/module"
import { Schema } from "effect"

export class TokenNotFound extends defineError<TokenNotFound>()(
  "TokenNotFound",
  {
    code: "token-not-found",
    status: 404,
    title: "Token not found",
    meaning: "The account has no token with this ID.",
    remedy: "Check the ID and the account. List the tokens to find it.",
    detail: ({ tokenId }) => `Token "${tokenId}" does not exist in this account`
  },
  { tokenId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class SessionNotFound extends defineError<SessionNotFound>()(
  "SessionNotFound",
  {
    code: "session-not-found",
    status: 404,
    title: "Session not found",
    meaning: "There is no session with this ID. It never existed, it was revoked, or it ended more than an hour ago.",
    remedy: "Check the ID. List the sessions to find it.",
    detail: ({ sessionId }) => `Session "${sessionId}" does not exist`
  },
  { sessionId: Schema.String.annotate({ description: "The requested ID." }) }
) {}
