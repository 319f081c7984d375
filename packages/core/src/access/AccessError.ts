import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

/** The credential is missing or wrong. The error does not say which, so that it gives no hint to an attacker. */
export class Unauthorized extends defineError<Unauthorized>()("Unauthorized", {
  code: "unauthorized",
  status: 401,
  title: "Not authenticated",
  meaning:
    "The credential is missing or not valid: a management token of the HTTP API, or the API key of a protected " +
    "route. The error does not say why.",
  remedy:
    "Send `Authorization: Bearer <token>` with a token of the option `tokens`, or the credential that `authenticate` of " +
    "the server accepts; on a protected route, an API key that exists, is neither expired nor disabled, and belongs to a consumer that is not disabled.",
  detail: () => "Send a valid credential, such as Authorization: Bearer <token>"
}) {}

export class Forbidden extends defineError<Forbidden>()(
  "Forbidden",
  {
    code: "forbidden",
    status: 403,
    title: "Forbidden",
    meaning:
      "The credential is valid but does not allow the operation. It is for another account or lacks a permission, or the " +
      "request comes from another site with a cookie.",
    remedy:
      "Use a credential for this account, with the permission that `permission` names. In a page of another site, send the " +
      "credential in the `Authorization` header.",
    detail: () => "This credential is for another account"
  },
  {
    permission: Schema.optionalKey(Schema.String).annotate({ description: "The permission that the credential lacks." })
  }
) {}

/** The API key of a request to a protected route lacks scopes that the route requires. */
export class MissingScope extends defineError<MissingScope>()(
  "MissingScope",
  {
    code: "missing-scope",
    status: 403,
    title: "Missing scope",
    meaning: "The API key is valid but lacks scopes that the protected route requires.",
    remedy: "Use another key, or add the scopes to this one with an update of the key.",
    detail: ({ scopes }) => `The API key lacks ${scopes.length === 1 ? "the scope" : "the scopes"} ${scopes.join(", ")}`
  },
  {
    scopes: Schema.Array(Schema.String).annotate({ description: "The scopes that the key lacks." })
  }
) {}

/** The API key of a request to a protected route must not be used from the address of the client. */
export class IpNotAllowed extends defineError<IpNotAllowed>()("IpNotAllowed", {
  code: "ip-not-allowed",
  status: 403,
  title: "IP address not allowed",
  meaning:
    "The API key is valid, but its `ipAllow` does not contain the address of the client, or the address is not known.",
  remedy:
    "Use the key from one of its addresses, or change `ipAllow` with an update of the key. Behind a proxy, set up the server " +
    "so that it knows the address of the client.",
  detail: () => "The API key must not be used from this IP address"
}) {}
