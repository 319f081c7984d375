import { defineError } from "../errors/defineError.ts"

export class IdempotencyKeyReused extends defineError<IdempotencyKeyReused>()("IdempotencyKeyReused", {
  code: "idempotency-key-reused",
  status: 422,
  title: "Idempotency key reused",
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
  detail: () =>
    "This request already succeeded, but its result can no longer be read. Read the resource that it created or changed.",
  schemaName: "AnswerForgottenProblem"
}) {}

export type IdempotencyError = IdempotencyKeyReused | ReplayUnavailable
