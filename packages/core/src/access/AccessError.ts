import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

/** The credential is missing or wrong. The error does not say which, so that it gives no hint to an attacker. */
export class Unauthorized extends defineError<Unauthorized>()("Unauthorized", {
  code: "unauthorized",
  status: 401,
  title: "Not authenticated",
  detail: () => "Send a valid credential, such as Authorization: Bearer <token>"
}) {}

export class Forbidden extends defineError<Forbidden>()("Forbidden", {
  code: "forbidden",
  status: 403,
  title: "Forbidden",
  detail: () => "This credential is for another account"
}) {}

/** The API key of a request to a protected route lacks scopes that the route requires. */
export class MissingScope extends defineError<MissingScope>()(
  "MissingScope",
  {
    code: "missing-scope",
    status: 403,
    title: "Missing scope",
    detail: ({ scopes }) => `The API key lacks ${scopes.length === 1 ? "the scope" : "the scopes"} ${scopes.join(", ")}`
  },
  {
    /** The missing ones. */
    scopes: Schema.Array(Schema.String)
  }
) {}
