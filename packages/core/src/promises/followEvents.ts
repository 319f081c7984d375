/**
 * Follows the event log of an account through its list, in process and in a client.
 */

import { invalidParameter, run } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { EventsMethods } from "../events/EventsApi.ts"
import type { EventJson } from "../outbox/Event.ts"
import type { FollowOptions } from "./handles.ts"
import { parseOptions } from "./makeMethods.ts"

const pollIntervalMs = 500
const pageSize = 100

/** The events after the one with the id `after`, or after the start of the log. The first page of them. */
const readNext = async (
  { list }: EventsMethods,
  after: string | undefined,
  signal: AbortSignal | undefined
): Promise<ReadonlyArray<EventJson>> => {
  const page = { order: "asc", limit: pageSize, signal } as const
  if (after === undefined) return (await list(page)).data
  const { total: place } = await list({ before: after, limit: 1, signal })
  const { data } = await list({ ...page, offset: place })
  const index = data.findIndex(({ id }) => id === after)
  // If it was dropped from the log, all that are left came after it.
  return index < 0 && place > 0 ? readNext({ list }, after, signal) : data.slice(index + 1)
}

export async function* followEvents(events: EventsMethods, options?: FollowOptions): AsyncGenerator<EventJson, void> {
  const { signal, values } = parseOptions(options)
  const { after, ...unknown } = values as Pick<FollowOptions, "after">
  for (const name of Object.keys(unknown)) throw invalidParameter(name, "is not an option of this call")
  const [newest] = after === undefined ? (await events.list({ limit: 1, signal })).data : []
  let last = after ?? newest?.id
  for (;;) {
    const next = await readNext(events, last, signal)
    for (const event of next) {
      yield event
      last = event.id
    }
    if (next.length < pageSize - 1) await run(Effect.sleep(pollIntervalMs), signal)
  }
}
