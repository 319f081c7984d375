/**
 * Encodes entries as the keys and arguments of the scripts `writeRecords` and `writeExpiring`.
 */
import type { StoreEntry } from "@tollgate/store"
import { type Keys, toCounterMember, toReplayMember } from "./Keys.ts"
import { encodeOwner, encodeRecordBody } from "./recordCodec.ts"
import { encodeReplay } from "./replays.ts"

interface ScriptCall {
  readonly keys: ReadonlyArray<string>
  readonly arguments: ReadonlyArray<string | number>
}

const encodeRecords = (keys: Keys, entries: ReadonlyArray<StoreEntry>): ScriptCall | undefined => {
  const sequence = entries.reduce((sequence, entry) => (entry._tag === "Sequence" ? entry.value : sequence), 0)
  const records = entries.flatMap((entry) => (entry._tag === "Record" ? [entry.record] : []))
  if (sequence === 0 && records.length === 0) return undefined
  const scriptKeys = [keys.records, keys.uniqueKeys, keys.sequence, keys.totals]
  const positions = new Map<string, number>()
  const declareTerm = (term: string): number => {
    const position = positions.get(term) ?? scriptKeys.push(keys.term(term))
    positions.set(term, position)
    return position
  }
  const search = records.some(({ searchTerms }) => searchTerms !== undefined) ? scriptKeys.push(keys.search) : 0
  const args: Array<string | number> = [sequence, search, records.length]
  for (const record of records) {
    const { key, version, parent, indexTerms, uniqueKeys, searchTerms = [] } = record
    args.push(key, version, encodeRecordBody(record), encodeOwner(key, parent))
    args.push(indexTerms.length, ...indexTerms.map(declareTerm), uniqueKeys.length, ...uniqueKeys)
    args.push(searchTerms.length, ...searchTerms)
  }
  return { keys: scriptKeys, arguments: args }
}

const encodeExpiring = (keys: Keys, entries: ReadonlyArray<StoreEntry>): ScriptCall | undefined => {
  const scriptKeys = [keys.expiring]
  const args: Array<string | number> = []
  const push = (member: string, value: string | number, expiresAt: number) => {
    scriptKeys.push(keys.expiringKey(member))
    args.push(member, value, expiresAt)
  }
  for (const entry of entries) {
    if (entry._tag === "Counter") push(toCounterMember(entry.name), entry.value, entry.expiresAt)
    else if (entry._tag === "Replay") push(toReplayMember(entry.id), encodeReplay(entry), entry.expiresAt)
  }
  return args.length === 0 ? undefined : { keys: scriptKeys, arguments: args }
}

export const encodeEntries = (keys: Keys, entries: ReadonlyArray<StoreEntry>) => ({
  records: encodeRecords(keys, entries),
  expiring: encodeExpiring(keys, entries)
})
