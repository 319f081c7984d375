import { defineError } from "../errors/defineError.ts"

export class IdempotencyKeyReused extends defineError<IdempotencyKeyReused>()("IdempotencyKeyReused", {
  code: "idempotency-key-reused",
  status: 422,
  title: "Idempotency key reused",
  meaning: "The `Idempotency-Key` was used for a different request in the last 24 hours.",
  remedy: "Use a new key for each new request, and the same key only for retries with the same body.",
  detail: () => "This Idempotency-Key was already used for a different request. Use a new key."
}) {}

/**
 * The first request succeeded, but its stored result cannot be decrypted or decoded: the secret or the format changed.
 * The code `answer-forgotten` and the schema name are part of the HTTP API and cannot change.
 */
export class ReplayUnavailable extends defineError<ReplayUnavailable>()("ReplayUnavailable", {
  code: "answer-forgotten",
  status: 409,
  title: "Idempotent replay unavailable",
  meaning:
    "The request succeeded before, but its stored response can no longer be read: the secret or the format has " +
    "changed since.",
  remedy: "Do not repeat the request with a new key. Read the resource that it created or changed.",
  detail: () =>
    "This request already succeeded, but its result can no longer be read. Read the resource that it created or changed.",
  schemaName: "AnswerForgottenProblem"
}) {}

export type IdempotencyError = IdempotencyKeyReused | ReplayUnavailable
