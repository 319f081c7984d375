/**
 * The forms of the function that decides whether a request is allowed. `authorize.ts` makes it.
 */
import type { HotPath } from "@tollgate/store/internal"
import type { Effect } from "effect"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { AuthorizeOptions, ParsedAuthorizeOptions } from "./AuthorizeOptions.ts"
import type { AuthorizeError, AuthorizeResult } from "./Decision.ts"
import type { DecisionSource } from "./DecisionObservers.ts"
import type { CommitDecision } from "./DecisionReceipt.ts"
import type { Tagged } from "./refuse.ts"

/** Decides whether a request with a key is allowed. Returns an `Exit` if the store answers at once. */
export type Decide = (
  bucket: KeyBucket,
  key: string,
  options: AuthorizeOptions | ParsedAuthorizeOptions | undefined,
  hotPath: HotPath,
  source: DecisionSource | undefined
) => Effect.Effect<AuthorizeResult, AuthorizeError>

/** A decision, or the one of an earlier request with the same Idempotency-Key. */
export interface DecidedOnce {
  readonly decision: AuthorizeResult
  readonly isReplay: boolean
}

/** Decides within the function that runs a request once. Nothing is recorded of a replay. */
export type DecideOnce = <Failure>(
  bucket: KeyBucket,
  key: string,
  options: ParsedAuthorizeOptions,
  hotPath: HotPath,
  source: DecisionSource,
  run: (
    judge: <E extends Tagged = never>(
      commitOnce: CommitDecision<E> | undefined
    ) => Effect.Effect<AuthorizeResult, AuthorizeError | E>
  ) => Effect.Effect<DecidedOnce, Failure>
) => Effect.Effect<DecidedOnce, Failure>
