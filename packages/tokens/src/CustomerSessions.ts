/**
 * Sessions of customers in their portal. What may be done with one is for the module of the portal to say; here is how they
 * are stored, found and removed.
 */
import {
  type AccountName,
  Accounts,
  type Change,
  DueWork,
  type Entry,
  Ids,
  KeyUse,
  type LimitReached,
  Limits,
  omitUndefined,
  type Page,
  type PageRequest,
  type Partition,
  readFirst,
  SecretBox,
  Store,
  StoreConflict,
  type StoreError,
  TrustedClock
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer } from "effect"
import { findCredential, listCredentials, toVisible } from "./credentialQueries.ts"
import { credentialRecords, findRemoval, ofConsumer, ofKind } from "./credentialRecords.ts"
import { generateValue, toPartition } from "./credentialValues.ts"
import { cleanJob } from "./Sessions.ts"
import { CustomerSessionId, type StoredCredential, type StoredCustomerSession } from "./Token.ts"
import { limitReached } from "./tokenLimits.ts"

/** Whose session it is, what it allows, and for how long. */
export interface NewCustomerSession {
  readonly account: AccountName
  readonly keyBucketName: string
  readonly consumerName: string
  readonly consumerId: string
  readonly name?: string | undefined
  readonly allow: ReadonlyArray<string>
  readonly returnUrl?: string | undefined
  readonly meteringBucketId?: string | undefined
  readonly sessionMs: number
}

/** A session as callers see it. */
export type CustomerSession = Omit<StoredCustomerSession, "kind" | "account" | "hashes" | "encryptedHash"> & {
  readonly lastUsedOn?: DateTime.Utc
}

const isCustomerSession = (entry: Entry<StoredCredential>): entry is Entry<StoredCustomerSession> =>
  entry.value.kind === "customer"

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const secretBox = yield* SecretBox
  const keyUse = yield* KeyUse
  const dueWork = yield* DueWork
  const { now: readNow } = yield* TrustedClock
  const { customerSessionsPerAccount: max } = yield* Limits
  const withStore = Effect.provideService(Store, store)

  return CustomerSessions.of({
    prepare: Effect.fnUntraced(function* ({ sessionMs, ...fields }) {
      const { account } = fields
      const now = yield* readNow
      const id = CustomerSessionId.make(yield* Ids.generate("pse"))
      const { value, stored } = yield* generateValue(secretBox, "customer", account, id)
      const expiresOn = DateTime.add(now, { milliseconds: sessionMs })
      const session: StoredCustomerSession = {
        kind: "customer",
        id,
        ...omitUndefined(fields),
        createdOn: now,
        expiresOn,
        ...stored
      }
      const partition = toPartition(account)
      yield* accounts.ensureListed(account)
      yield* dueWork.ensure(cleanJob, partition, Effect.succeed(account), findRemoval(session) ?? now)
      return {
        token: value,
        session: toVisible(session),
        changes: [
          credentialRecords.insert(session),
          credentialRecords.assertAtMost(ofKind("customer", account), max - 1)
        ]
      }
    }, withStore),
    getPartition: toPartition,
    toLimitReached: (error) =>
      error instanceof StoreConflict && error.reason === "too-many-records"
        ? limitReached("customerSessionsPerAccount", max)
        : error,
    find: (account, id) => withStore(findCredential("customer", account, id)),
    list: (account, consumerId, query) =>
      withStore(listCredentials(keyUse, "customer", account, query, ofConsumer(consumerId))),
    first: (account, consumerId, limit) =>
      withStore(readFirst(credentialRecords, toPartition(account), [ofConsumer(consumerId)], limit)).pipe(
        Effect.map((found) => found.flat().filter(isCustomerSession))
      ),
    remove: credentialRecords.remove
  })
})

/** Sessions of customers: how they are made, found and removed. */
export class CustomerSessions extends Context.Service<
  CustomerSessions,
  {
    /** Makes a session and its token. It exists when the changes are committed to the partition. */
    readonly prepare: (
      session: NewCustomerSession
    ) => Effect.Effect<
      { readonly token: string; readonly session: CustomerSession; readonly changes: ReadonlyArray<Change> },
      LimitReached | StoreError
    >
    /** Where the sessions of an account are. */
    readonly getPartition: (account: string) => Partition.Partition
    /** The error for callers if an account has too many sessions. */
    readonly toLimitReached: <E>(error: E) => E | LimitReached
    readonly find: (
      account: string,
      sessionId: string
    ) => Effect.Effect<Entry<StoredCustomerSession> | undefined, StoreError>
    /** A page of the sessions of a consumer, oldest first. */
    readonly list: (
      account: string,
      consumerId: string,
      query: PageRequest
    ) => Effect.Effect<Page<CustomerSession>, StoreError>
    /** The oldest sessions of a consumer. */
    readonly first: (
      account: string,
      consumerId: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Entry<StoredCustomerSession>>, StoreError>
    /** The change that ends a session. */
    readonly remove: (session: Entry<StoredCustomerSession>) => Change
  }
>()("@tollgate/tokens/CustomerSessions") {
  static readonly layer = Layer.effect(CustomerSessions, make)
}
