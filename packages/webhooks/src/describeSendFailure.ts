/**
 * Plain reasons for the errors of Node's HTTP client. Messages of Node are not used: they contain addresses, and texts
 * that the receiver chooses, such as the names in its certificate.
 */
import { getErrorCode } from "./ResolutionError.ts"

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed before the response was complete",
  EPIPE: "the connection was closed before the response was complete",
  ETIMEDOUT: "connection timed out",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the host cannot be reached",
  EADDRNOTAVAIL: "the host cannot be reached",
  EPROTO: "TLS: the handshake failed",
  CERT_HAS_EXPIRED: "TLS: the certificate has expired",
  CERT_NOT_YET_VALID: "TLS: the certificate is not valid yet",
  CERT_REVOKED: "TLS: the certificate was revoked",
  DEPTH_ZERO_SELF_SIGNED_CERT: "TLS: the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "TLS: the certificate is not from a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT: "TLS: the certificate is not from a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "TLS: the certificate is not from a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "TLS: the certificate is not from a trusted authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "TLS: the certificate is for another host",
  HPE_HEADER_OVERFLOW: "the response headers are too large"
}

const describeCode = (code: string): string => {
  if (code.startsWith("HPE_")) return "the response is not valid HTTP"
  if (code.startsWith("ERR_SSL_")) return "TLS: the handshake failed"
  if (/CERT|CRL|CA_|SIGNATURE/.test(code)) return "TLS: the certificate is not valid"
  return "the request failed"
}

export const describeSendFailure = (error: unknown): string => {
  const code = String(getErrorCode(error))
  return reasons[code] ?? describeCode(code)
}
