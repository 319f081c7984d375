/**
 * What is told of every decision when it has been made, such as a log of refusals. It is told on the path of the request, so
 * an observer only notes what it needs, and does its work later.
 */

import { Context, Effect, Layer } from "effect"
import type { IpSource } from "../keys/ipAddresses.ts"
import type { KeyOwner } from "../keys/Verification.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { AuthorizeResult } from "./Decision.ts"

/** The request that a decision is about. Its functions are called only if their results are needed. */
export interface DecisionSource {
  readonly ip?: IpSource
  /** The id that the response names. */
  readonly requestId?: (() => string) | undefined
  /** The route, as the framework writes it: `GET /orders/:id`. */
  readonly route?: (() => string | undefined) | undefined
}

/** A decision that has been made. */
export interface ObservedDecision {
  readonly bucket: KeyBucket
  readonly key: string
  readonly result: AuthorizeResult
  /** Whose key it is, if it exists. */
  readonly owner: KeyOwner | undefined
  /** When the key was checked, in epoch milliseconds. */
  readonly now: number
  readonly source: DecisionSource | undefined
}

/** Must not throw. */
export type DecisionObserver = (decision: ObservedDecision) => void

/** Those who are told of every decision of this process. */
export class DecisionObservers extends Context.Service<
  DecisionObservers,
  {
    readonly register: (observer: DecisionObserver) => Effect.Effect<void>
    readonly all: ReadonlyArray<DecisionObserver>
  }
>()("@tollgate/core/authorize/DecisionObservers") {
  static readonly layer = Layer.sync(DecisionObservers, () => {
    const all: Array<DecisionObserver> = []
    return { all, register: (observer) => Effect.sync(() => void all.push(observer)) }
  })
}
