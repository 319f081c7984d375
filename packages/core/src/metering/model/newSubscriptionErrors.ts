import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { MeteringBucketNotFound } from "./MeteringBucketError.ts"
import { ConflictingPeriods, UnknownPlan } from "./PlanError.ts"
import { SubscriptionExternalIdTaken } from "./SubscriptionError.ts"

/** Errors of all endpoints that may create a subscription. */
export const newSubscriptionErrors = [
  MeteringBucketNotFound,
  UnknownPlan,
  ConflictingPeriods,
  SubscriptionExternalIdTaken,
  LimitReached
] as const
