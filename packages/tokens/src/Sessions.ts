/**
 * Sessions of people in the console. A link has a code that works once; it is exchanged for the token of a session. Both
 * are stored, so that whoever has only the secret cannot make one.
 */
import {
  AccountName,
  Accounts,
  asSystem,
  type CallerShape,
  DueWork,
  type Entry,
  Ids,
  implementOperations,
  KeyUse,
  type LimitReached,
  Limits,
  type Operations,
  omitUndefined,
  type PageRequest,
  readFirst,
  removeDue,
  retryOnConflict,
  SecretBox,
  Store,
  type StoreError,
  TrustedClock
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer } from "effect"
import { Credentials } from "./Credentials.ts"
import { findCredential, listCredentials } from "./credentialQueries.ts"
import { credentialRecords, findRemoval, ofKind, removals } from "./credentialRecords.ts"
import { generateValue, toPartition } from "./credentialValues.ts"
import { SessionId, type StoredCredential, type StoredLink, type StoredSession } from "./Token.ts"
import { SessionNotFound } from "./TokenError.ts"
import { AllSessionsApi, SessionsApi, type SessionsMethods } from "./TokensApi.ts"
import { limitReached } from "./tokenLimits.ts"

const linkLifetimeMs = 5 * 60_000
const batchSize = 200
/** Removes sessions and links that have ended. */
export const cleanJob = { name: "sessions" }

/** Who gets a session, for which account (`*` for all), what they may do, and for how long. */
export interface NewSession extends Pick<CallerShape, "account" | "access" | "permissions" | "name"> {
  readonly sessionMs: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const secretBox = yield* SecretBox
  const keyUse = yield* KeyUse
  const credentials = yield* Credentials
  const dueWork = yield* DueWork
  // By the clock that decides when they end.
  const { now: readNow } = yield* TrustedClock
  const { sessionsPerAccount } = yield* Limits
  const withStore = Effect.provideService(Store, store)

  yield* dueWork.register({
    ...cleanJob,
    run: (partition) =>
      withStore(asSystem(retryOnConflict(removeDue(credentialRecords, removals, findRemoval, partition))))
  })

  const list = (account: string, query: PageRequest) => listCredentials(keyUse, "session", account, query)

  const removeEntries = Effect.fnUntraced(function* (account: string, entries: ReadonlyArray<Entry<StoredCredential>>) {
    yield* store.commit(toPartition(account), entries.map(credentialRecords.remove))
    for (const { value } of entries) credentials.forget(value)
  })

  const remove = Effect.fnUntraced(function* (account: string, sessionId: string) {
    const attempt = Effect.gen(function* () {
      const session = yield* findCredential("session", account, sessionId)
      if (session === undefined) return yield* new SessionNotFound({ sessionId })
      yield* removeEntries(account, [session])
    })
    yield* retryOnConflict(attempt)
  })

  const removeAll = Effect.fnUntraced(function* (account: string) {
    const terms = [ofKind("session", account), ofKind("link", account)]
    const attempt = Effect.gen(function* () {
      const entries = (yield* readFirst(credentialRecords, toPartition(account), terms, batchSize)).flat()
      yield* removeEntries(account, entries)
      return entries.length
    })
    while ((yield* retryOnConflict(attempt)) > 0) yield* Effect.yieldNow
  })

  /** Inserts a link or a session, unless the account has too many. */
  const insert = Effect.fnUntraced(function* (
    credential: StoredLink | StoredSession,
    replaced: ReadonlyArray<Entry<StoredCredential>>
  ) {
    const { account, kind } = credential
    const partition = toPartition(account)
    if (account !== "*") yield* accounts.ensureListed(AccountName.make(account))
    const removal = findRemoval(credential) ?? (yield* DateTime.now)
    yield* dueWork.ensure(cleanJob, partition, Effect.succeed(account), removal)
    yield* store
      .commit(partition, [
        credentialRecords.insert(credential),
        credentialRecords.assertAtMost(ofKind(kind, account), sessionsPerAccount - 1),
        ...replaced.map(credentialRecords.remove)
      ])
      .pipe(
        Effect.catchIf(
          (error) => error._tag === "StoreConflict" && error.reason === "too-many-records",
          () => Effect.fail(limitReached("sessionsPerAccount", sessionsPerAccount))
        )
      )
  })

  return Sessions.of({
    createLink: Effect.fnUntraced(function* ({ sessionMs, ...session }) {
      const now = yield* readNow
      const expiresOn = DateTime.add(now, { milliseconds: linkLifetimeMs })
      const id = SessionId.make(yield* Ids.generate("ses"))
      const { value, stored } = yield* generateValue(secretBox, "link", session.account, id)
      const fields = omitUndefined(session)
      yield* insert({ kind: "link", ...fields, id, sessionMs, createdOn: now, expiresOn, ...stored }, [])
      return { code: value, expiresOn }
    }, withStore),

    exchange: Effect.fnUntraced(function* (code) {
      const link = yield* credentials.findLink(code)
      if (link === undefined) return undefined
      const { sessionMs, kind: _, hashes: __, encryptedHash: ___, ...session } = link.value
      const now = yield* readNow
      const expiresOn = DateTime.add(now, { milliseconds: sessionMs })
      const id = SessionId.make(yield* Ids.generate("ses"))
      const { value, stored } = yield* generateValue(secretBox, "session", session.account, id)
      const isInserted = yield* insert({ ...session, kind: "session", id, createdOn: now, expiresOn, ...stored }, [
        link
      ]).pipe(
        Effect.as(true),
        // Another request, maybe in another process, has used the link.
        Effect.catchTag("StoreConflict", () => Effect.succeed(false))
      )
      return isInserted ? { token: value, expiresOn } : undefined
    }, withStore),

    ...implementOperations(SessionsApi, { store })({
      list: ({ params: { accountName }, query }) => list(accountName, query),
      remove: ({ params: { accountName, sessionId } }) => remove(accountName, sessionId),
      removeAll: ({ params: { accountName } }) => removeAll(accountName)
    }),
    ofAllAccounts: implementOperations(AllSessionsApi, { store })({
      list: ({ query }) => list("*", query),
      remove: ({ params: { sessionId } }) => remove("*", sessionId),
      removeAll: () => removeAll("*")
    })
  })
})

/** Creates links, exchanges their codes for sessions, and has the operations `list`, `remove` and `removeAll`. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Creates a link: its code works once, within 5 minutes, in any process on the store. */
    readonly createLink: (
      session: NewSession
    ) => Effect.Effect<{ readonly code: string; readonly expiresOn: DateTime.Utc }, LimitReached | StoreError>
    /** Exchanges the code of a link for the token of a session; `undefined` if the code does not work. */
    readonly exchange: (
      code: string
    ) => Effect.Effect<
      { readonly token: string; readonly expiresOn: DateTime.Utc } | undefined,
      LimitReached | StoreError
    >
    /** The same operations on sessions that are for all accounts. */
    readonly ofAllAccounts: Operations<typeof AllSessionsApi>
  } & Operations<typeof SessionsApi, SessionsMethods>
>()("@tollgate/tokens/Sessions") {
  static readonly layer = Layer.effect(Sessions, make)
}
