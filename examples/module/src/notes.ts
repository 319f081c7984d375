/**
 * Notes on consumers, as a module of `createTollgate`.
 */
import {
  AccountName,
  Accounts,
  asSystem,
  Collection,
  created,
  DueWork,
  defineModule,
  exampleId,
  type GroupExamples,
  Ids,
  implementOperations,
  type Module,
  type Operations,
  Options,
  Partition,
  pageOf,
  recordEvent,
  retryOnConflict,
  SecretBox,
  Store,
  toPage
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import { Note, NoteNotFound, NotesApi, type NotesMethods, notesClient } from "./client.ts"

export interface NotesOptions {
  /** Days until a note is removed. Default: 365. */
  readonly keepDays?: number | undefined
}
const notesOptions = Options.struct<NotesOptions>()({ keepDays: Options.optional(Options.positiveInteger()) })

/** The notes of an account. What is in one partition can be written in one commit. */
const toPartition = (accountName: string) => Partition.make("notes", accountName)

const noteRecords = Collection.make({
  name: "note",
  format: 1,
  schema: Note,
  key: ({ id }) => id,
  indexTerms: ({ consumer }) => [`consumer:${consumer}`]
})

const encode = Schema.encodeSync(Note)
const recordNote = (type: "note.created" | "note.deleted", accountName: AccountName, note: Note) =>
  recordEvent(type, { accountName, subject: { type: "note", id: note.id }, data: encode(note) })

const cleanJob = { name: "notes.clean" }
const batchSize = 100

const make = Effect.fnUntraced(function* (keepDays: number) {
  const [store, secretBox, accounts, dueWork] = [yield* Store, yield* SecretBox, yield* Accounts, yield* DueWork]
  const endOf = ({ createdOn }: Note) => DateTime.add(createdOn, { days: keepDays })

  /** Removes a batch of old notes. Returns when there is more to do. */
  const clean = Effect.fnUntraced(function* (partition: Partition.Partition, accountName: AccountName) {
    const now = yield* DateTime.now
    const { entries } = yield* noteRecords.page(partition, { offset: 0, limit: batchSize })
    const old = entries.filter(({ value }) => DateTime.isLessThanOrEqualTo(endOf(value), now))
    const events = yield* Effect.forEach(old, ({ value }) => recordNote("note.deleted", accountName, value))
    yield* store.commit(partition, [...old.map(noteRecords.remove), ...events])
    if (old.length === batchSize) return now
    const next = entries.find((entry) => !old.includes(entry))
    return next && endOf(next.value)
  })
  yield* dueWork.register({
    ...cleanJob,
    run: (partition, accountName) =>
      retryOnConflict(clean(partition, AccountName.make(accountName))).pipe(
        asSystem,
        Effect.provideService(Store, store)
      )
  })

  return implementOperations(NotesApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { accountName }, query }) {
      const where = query.consumer === undefined ? [] : [`consumer:${query.consumer}`]
      const { entries, ...page } = yield* noteRecords.page(toPartition(accountName), { where, ...query })
      const data = entries.map(({ value }) => value)
      return toPage(query, page, data)
    }),

    create: Effect.fnUntraced(function* ({ params: { accountName }, payload }, once) {
      const partition = toPartition(accountName)
      const commitOnce = once(partition)
      const note = { id: yield* Ids.generate("note"), ...payload, createdOn: yield* DateTime.now }
      yield* accounts.ensureListed(accountName)
      yield* dueWork.ensure(cleanJob, partition, Effect.succeed(accountName), endOf(note))
      yield* commitOnce([noteRecords.insert(note), yield* recordNote("note.created", accountName, note)], note)
      return note
    }),

    remove: Effect.fnUntraced(function* ({ params: { accountName, noteId } }) {
      const partition = toPartition(accountName)
      const attempt = Effect.gen(function* () {
        const entry = yield* noteRecords.get(partition, noteId)
        if (Option.isNone(entry)) return yield* new NoteNotFound({ noteId })
        const event = yield* recordNote("note.deleted", accountName, entry.value.value)
        yield* store.commit(partition, [noteRecords.remove(entry.value), event])
      })
      yield* retryOnConflict(attempt)
    })
  })
})

export class Notes extends Context.Service<Notes, Operations<typeof NotesApi, NotesMethods>>()("example/Notes") {
  static readonly layer = (keepDays = 365) => Layer.effect(Notes, make(keepDays))
}

const input = { bucket: "production", consumer: "alice", text: "Pays by invoice." }
const note = { id: exampleId("note"), ...input, createdOn: created }
const examples: GroupExamples<typeof NotesApi> = {
  list: { response: pageOf(note) },
  create: { request: input, response: note }
}

/** Notes on consumers: `createTollgate({ store, secret, modules: [notes()] })`. */
export const notes = (options: NotesOptions = {}): Module<{ readonly notes: NotesMethods }, object, Notes> =>
  defineModule({
    ...notesClient,
    layer: Notes.layer(Options.decodeSync(notesOptions, options, "notes").keepDays),
    operations: Effect.map(Notes, (notes) => ({ notes })),
    examples: { notes: examples },
    partitions: (accountName) => Stream.succeed(toPartition(accountName))
  })
