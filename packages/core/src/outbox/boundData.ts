import type { EventData } from "./Event.ts"

const maxBytes = 16 * 1024

const isWithinLimit = (data: EventData): boolean => Buffer.byteLength(JSON.stringify(data)) <= maxBytes

/** What identifies a resource. These fields are always short. */
const identifying = ["id", "name", "consumerName", "keyBucketName"]

/**
 * Limits the data of an event to 16 KiB: leaves out `metadata`, and then the largest fields. `truncated` says that
 * something is missing.
 */
export const boundData = (data: EventData): EventData => {
  if (isWithinLimit(data)) return data
  const { metadata: _, ...rest } = data
  const bounded: Record<string, EventData[string]> = { ...rest, truncated: true }
  const bySize = Object.entries(rest)
    .filter(([name]) => !identifying.includes(name))
    .sort(([, left], [, right]) => JSON.stringify(right).length - JSON.stringify(left).length)
  for (const [name] of bySize) {
    if (isWithinLimit(bounded)) break
    delete bounded[name]
  }
  return bounded
}
