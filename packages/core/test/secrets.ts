/**
 * The secret and the tokens of the tests. Worker processes import this file, so it does not import Vitest.
 */
export const secret = "test-secret-with-at-least-32-characters"
export const tokens = {
  writer: "token-of-acme-that-may-write",
  reader: "token-of-acme-that-may-read",
  otherAccount: "token-of-another-account",
  admin: "token-for-all-the-accounts"
}
export const grants = [
  { token: tokens.writer, account: "acme" },
  { token: tokens.reader, account: "acme", access: "read" },
  { token: tokens.otherAccount, account: "other" },
  { token: tokens.admin, account: "*" }
] as const
