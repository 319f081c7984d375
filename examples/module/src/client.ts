/**
 * Notes on consumers, as a server and its clients see them: the resource, its error and its endpoints.
 */
import {
  AccountName,
  Area,
  Authenticated,
  bodyErrors,
  boundedText,
  type CheckMethods,
  type ClientModule,
  defineError,
  type Expect,
  type HandleTools,
  Id,
  type IdempotentCallOptions,
  type Input,
  idempotencyErrors,
  idempotencyKeyHeader,
  LimitReached,
  noQuery,
  Owner,
  optional,
  Page,
  type PageOptions,
  type PagePromise,
  page,
  parameters,
  pathName,
  Timestamp,
  type WriteCallOptions
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

declare module "@tollgate/core/module" {
  interface EventTypes {
    "note.created": true
    "note.deleted": true
  }
}

const input = { bucket: pathName, consumer: pathName, text: boundedText(1_000) }
export const Note = Schema.Struct({ id: Id("note"), ...input, createdOn: Timestamp }).annotate({ identifier: "Note" })
export type Note = typeof Note.Type
const NoteCreate = Schema.Struct(input).annotate({ identifier: "NoteCreate" })

export class NoteNotFound extends defineError<NoteNotFound>()(
  "NoteNotFound",
  {
    code: "note-not-found",
    status: 404,
    title: "Note not found",
    meaning: "The account has no note with this id.",
    remedy: "List the notes to find it.",
    detail: ({ noteId }) => `Note "${noteId}" does not exist in this account`
  },
  { noteId: Schema.String }
) {}

const params = { accountName: AccountName }

export class NotesApi extends HttpApiGroup.make("notes")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/notes", {
      params,
      query: parameters({ ...page, consumer: optional(pathName) }),
      success: Page(Note)
    }).annotate(OpenApi.Summary, "List notes, oldest first"),
    HttpApiEndpoint.post("create", "/accounts/:accountName/notes", {
      params,
      headers: idempotencyKeyHeader,
      payload: NoteCreate,
      success: Note,
      error: [LimitReached, ...idempotencyErrors, ...bodyErrors]
    }).annotate(OpenApi.Summary, "Create a note on a consumer"),
    HttpApiEndpoint.delete("remove", "/accounts/:accountName/notes/:noteId", {
      params: { ...params, noteId: pathName },
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [NoteNotFound]
    }).annotate(OpenApi.Summary, "Delete a note")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "notes")
  .annotate(Owner, "account")
  .annotateMerge(OpenApi.annotations({ title: "Notes", description: "Notes on consumers." })) {}

/** The methods of `gate.account(name).notes`. */
export interface NotesMethods {
  list(options?: PageOptions & { readonly consumer?: string | undefined }): PagePromise<typeof Note.Encoded>
  create(note: Input<typeof NoteCreate>, options?: IdempotentCallOptions): Promise<typeof Note.Encoded>
  remove(noteId: string, options?: WriteCallOptions): Promise<void>
}
export type MethodChecks = Expect<CheckMethods<typeof NotesApi, NotesMethods>>

/** For `createClient`. The module itself declares the same. */
export const notesClient: ClientModule<{ readonly notes: NotesMethods }> = {
  name: "notes",
  groups: () => [NotesApi],
  events: {
    "note.created": { description: "A note was created.", data: Note },
    "note.deleted": { description: "A note was deleted.", data: Note }
  },
  account: { notes: ({ methods }: HandleTools, accountName) => methods<NotesMethods>("notes", { accountName }) }
}
