/**
 * The decision for callers that are not on the hot path: in a fiber.
 */
import { runInFiber, type Store } from "@tollgate/store/internal"
import type { Effect } from "effect"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import type { AuthorizeOptions, ParsedAuthorizeOptions } from "./AuthorizeOptions.ts"
import { type DecisionServices, makeDecide } from "./authorize.ts"
import type { Decide } from "./Decide.ts"
import type { AuthorizeError, AuthorizeResult } from "./Decision.ts"
import type { DecisionSource } from "./DecisionObservers.ts"
import { traceDecision } from "./observe.ts"

/** Decides in a fiber, with a span if the host traces. */
export const decideInFiber =
  (decide: Decide, store: Store["Service"]) =>
  (
    bucket: KeyBucket,
    key: string,
    options?: AuthorizeOptions | ParsedAuthorizeOptions,
    source?: DecisionSource
  ): Effect.Effect<AuthorizeResult, AuthorizeError> =>
    traceDecision(
      bucket,
      runInFiber(store, (hotPath) => decide(bucket, key, options, hotPath, source))
    )

/** Makes the function that decides whether a request with a key is allowed, as `authorize` of a key bucket does. */
export const makeAuthorize = ({ store, ...services }: DecisionServices & { readonly store: Store["Service"] }) =>
  decideInFiber(makeDecide(services, Telemetry.defaultValue(), []).decide, store)
