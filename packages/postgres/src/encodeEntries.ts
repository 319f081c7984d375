/**
 * Encodes entries as the rows that the queries in `contentQueries.ts` write.
 */
import type { CounterEntry, StoreEntry } from "@tollgate/store"
import { encodeName, toIndexName } from "./indexName.ts"
import { encodeRecord } from "./recordCodec.ts"
import { encodeReplay } from "./replays.ts"

const encodeCounter = ({ name, value, expiresAt }: CounterEntry) => ({
  ...encodeName(name),
  value,
  expires: expiresAt
})

export const encodeEntries = (entries: ReadonlyArray<StoreEntry>) => ({
  sequence: entries.reduce((sequence, entry) => (entry._tag === "Sequence" ? entry.value : sequence), 0),
  records: entries.flatMap((entry) => {
    if (entry._tag !== "Record") return []
    const { key, version } = entry.record
    return [{ key: toIndexName(key), version, ...encodeRecord(entry.record) }]
  }),
  counters: entries.flatMap((entry) => (entry._tag === "Counter" ? [encodeCounter(entry)] : [])),
  replays: entries.flatMap((entry) =>
    entry._tag === "Replay" ? [{ id: toIndexName(entry.id), ...encodeReplay(entry), expires: entry.expiresAt }] : []
  )
})
