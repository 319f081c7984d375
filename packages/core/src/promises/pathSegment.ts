import { invalidParameter } from "@tollgate/store/internal"

/** For ids that callers mistake for another value: the name of the metering bucket, or the key of the customer. */
const idMessages: Readonly<Record<string, string>> = {
  meteringBucketId: "must be the name or the id of a metering bucket, a string",
  subscriptionId: "must be the id of a subscription, a string; find it with subscriptions.list({ customerKey })"
}

/**
 * Checks a name or an id that a URL must carry as one segment of a path. Callers in process have the same rule, so that
 * a client and a Tollgate in process behave alike.
 */
export const parsePathSegment = (parameter: string, value: unknown): string => {
  if (typeof value === "string" && /^(?!\.{1,2}$)[^\0]{1,1024}$/su.test(value) && value.isWellFormed()) return value
  const message = typeof value === "string" ? undefined : idMessages[parameter]
  throw invalidParameter(
    parameter,
    message ?? 'must be a non-empty string of at most 1,024 characters other than "." and ".."'
  )
}
