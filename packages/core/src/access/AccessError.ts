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
