/**
 * Opens, lists and revokes sessions of customers, and says what the caller of a request is as a customer.
 */

import { MeteringBuckets } from "@tollgate/core/effect"
import {
  type AccountName,
  type CallerShape,
  type Entry,
  findConsumer,
  implementOperations,
  invalidBody,
  type Operations,
  omitUndefined,
  Principal,
  PublicUrl,
  recordEvent,
  retryOnConflict,
  SecretBox,
  Store,
  type StoreError,
  skipChecks
} from "@tollgate/core/module"
import { Credentials, CustomerSessions, type StoredCustomerSession } from "@tollgate/tokens"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { makeAuthenticate } from "./authenticateCustomer.ts"
import { findMeteringBucketId } from "./meteringBuckets.ts"
import { ConsumerDisabled, PortalSessionNotFound } from "./PortalError.ts"
import { defaultAllow, defaultSeconds, type NewPortalSession, PortalSession } from "./PortalSession.ts"
import { PortalSessionsApi, type PortalSessionsMethods } from "./PortalSessionsApi.ts"
import { isSafeTarget } from "./portalOptions.ts"

/** Sessions that are removed in one commit. */
const batchSize = 100

const encode = Schema.encodeSync(PortalSession, skipChecks)

const record = (
  type: "portal_session.created" | "portal_session.deleted",
  accountName: AccountName,
  session: PortalSession
) =>
  recordEvent(type, {
    accountName,
    subject: { type: "portal_session", id: session.id, name: session.consumerName },
    data: encode(session)
  })

const toSession = ({
  kind: _,
  account: __,
  hashes: ___,
  encryptedHash: ____,
  consumerId: _____,
  ...session
}: StoredCustomerSession): PortalSession => session

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const sessions = yield* CustomerSessions
  const meteringBuckets = yield* MeteringBuckets
  const publicUrl = yield* PublicUrl
  const origin = publicUrl === undefined ? undefined : new URL(publicUrl).origin

  /** The portal reads both behind the `#`, which browsers do not send: it is in no log of a server or proxy. */
  const toUrl = (path: ReadonlyArray<string>, token: string): string =>
    `${publicUrl ?? ""}/portal/#${new URLSearchParams({ token, path: path.join("/") })}`

  const findSession = Effect.fnUntraced(function* (accountName: string, consumerId: string, sessionId: string) {
    const entry = yield* sessions.find(accountName, sessionId)
    if (entry?.value.consumerId !== consumerId) return yield* new PortalSessionNotFound({ sessionId })
    return entry
  })

  /** The changes that end sessions, with their events. */
  const toRemovals = Effect.fnUntraced(function* (
    accountName: AccountName,
    entries: ReadonlyArray<Entry<StoredCustomerSession>>
  ) {
    const events = yield* Effect.forEach(entries, ({ value }) =>
      record("portal_session.deleted", accountName, toSession(value))
    )
    return [...entries.map(sessions.remove), ...events]
  })

  const operations = implementOperations(PortalSessionsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params, query }) {
      const { value: consumer } = yield* findConsumer(params, params.consumerName)
      const found = yield* sessions.list(params.accountName, consumer.id, query)
      return { ...found, data: found.data.map(({ consumerId: _, ...session }) => session) }
    }),

    create: Effect.fnUntraced(function* ({ params, payload }, once) {
      const { accountName, bucketName, consumerName } = params
      const { allow = defaultAllow, expiresIn = defaultSeconds, name, returnUrl, meteringBucket } = payload
      const commitOnce = once(sessions.getPartition(accountName))
      if (returnUrl !== undefined && !isSafeTarget(returnUrl, origin)) {
        return yield* invalidBody("/returnUrl", "must be an https URL, or a path or URL of this server")
      }
      const { value: consumer } = yield* findConsumer(params, consumerName)
      if (consumer.disabled === true) return yield* new ConsumerDisabled()
      const { token, session, changes } = yield* sessions.prepare({
        account: accountName,
        keyBucketName: bucketName,
        consumerName,
        consumerId: consumer.id,
        allow: [...new Set(allow)],
        ...omitUndefined({ name, returnUrl }),
        ...(meteringBucket === undefined
          ? {}
          : { meteringBucketId: yield* findMeteringBucketId(meteringBuckets, accountName, meteringBucket) }),
        sessionMs: expiresIn * 1_000
      })
      const { consumerId: _, ...shown } = session
      const path = ["accounts", accountName, "key-buckets", bucketName, "consumers", consumerName]
      const created: typeof NewPortalSession.Type = { ...shown, url: toUrl(path, token), token }
      const commit = Effect.gen(function* () {
        yield* commitOnce([...changes, yield* record("portal_session.created", accountName, shown)], created)
      })
      yield* Effect.mapError(retryOnConflict(commit), sessions.toLimitReached)
      return created
    }),

    remove: Effect.fnUntraced(function* ({ params: { sessionId, ...params } }) {
      const { accountName, consumerName } = params
      const attempt = Effect.gen(function* () {
        const { value: consumer } = yield* findConsumer(params, consumerName)
        const entry = yield* findSession(accountName, consumer.id, sessionId)
        yield* store.commit(sessions.getPartition(accountName), yield* toRemovals(accountName, [entry]))
      })
      yield* retryOnConflict(attempt)
    }),

    removeAll: Effect.fnUntraced(function* ({ params }) {
      const { accountName, consumerName } = params
      const attempt = Effect.gen(function* () {
        const { value: consumer } = yield* findConsumer(params, consumerName)
        const entries = yield* sessions.first(accountName, consumer.id, batchSize)
        yield* store.commit(sessions.getPartition(accountName), yield* toRemovals(accountName, entries))
        return entries.length
      })
      while ((yield* retryOnConflict(attempt)) > 0) yield* Effect.yieldNow
    })
  })

  return PortalSessions.of({
    ...operations,
    authenticate: makeAuthenticate(yield* Credentials, store),
    current: Effect.gen(function* () {
      const caller = Option.getOrUndefined(yield* Effect.serviceOption(Principal))
      if (caller?.portal === undefined) return undefined
      const entry = yield* sessions.find(caller.account, caller.id)
      return entry && toSession(entry.value)
    })
  })
})

/** The operations on sessions of customers: `list`, `create`, `remove` and `removeAll`. Each takes one `OperationRequest`. */
export class PortalSessions extends Context.Service<
  PortalSessions,
  Operations<typeof PortalSessionsApi, PortalSessionsMethods> & {
    /** The customer that a token authenticates; `undefined` for every other value. */
    readonly authenticate: (value: string) => Effect.Effect<CallerShape | undefined, StoreError>
    /** The session of the request; `undefined` if its caller is not a customer. */
    readonly current: Effect.Effect<PortalSession | undefined, StoreError>
  }
>()("@tollgate/portal/PortalSessions") {
  static readonly layer = Layer.effect(PortalSessions, make).pipe(
    Layer.provide(CustomerSessions.layer),
    Layer.provide(Credentials.layer)
  )
}
