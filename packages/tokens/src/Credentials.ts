/**
 * Recognizes the values of tokens and sessions. A process remembers one for at most a second from when its read began, so
 * that every process heeds a change within a second.
 */
import {
  BoundedMap,
  type CallerShape,
  KeyUse,
  omitUndefined,
  type ReencryptOutcome,
  SecretBox,
  Store,
  type StoreError,
  TrustedClock,
  toGrant
} from "@tollgate/core/module"
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { byHash, credentialRecords } from "./credentialRecords.ts"
import { hashValue, parseValue, toPartition } from "./credentialValues.ts"
import { reencryptCredentials } from "./reencryptCredentials.ts"
import type { StoredCredential, StoredCustomerSession, StoredLink, StoredSession, StoredToken } from "./Token.ts"

const rememberedMs = 1_000
const maxRemembered = 10_000

interface Remembered {
  readonly credential: StoredToken | StoredSession
  /** On the monotonic clock, in milliseconds. */
  readonly readAt: number
}

const isLive = ({ expiresOn }: StoredCredential, now: DateTime.Utc): boolean =>
  expiresOn === undefined || DateTime.isGreaterThan(expiresOn, now)

const toCaller = (credential: StoredToken | StoredSession): CallerShape => {
  const { id, account, permissions } = credential
  if (credential.kind === "token") {
    return { id, account, name: credential.description, ...toGrant({ permissions }) }
  }
  return omitUndefined({ id, account, name: credential.name, access: credential.access, permissions })
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const keyUse = yield* KeyUse
  const { now: readNow } = yield* TrustedClock
  const remembered = new BoundedMap<string, Remembered>(maxRemembered)

  const find = Effect.fnUntraced(function* (value: string) {
    const parsed = parseValue(value)
    if (parsed === undefined) return undefined
    const uniqueKeys = hashValue(secretBox, value).map((hash) => credentialRecords.uniqueKey(byHash(hash)))
    const match = (yield* store.getByUniqueKey(parsed.partition, uniqueKeys)).find((found) => found !== undefined)
    if (match === undefined) return undefined
    const entry = yield* credentialRecords.decode(match.record)
    return entry.value.kind === parsed.kind ? entry : undefined
  })

  const recall = Effect.fnUntraced(function* (value: string) {
    const [key = ""] = hashValue(secretBox, value)
    const readAt = Number((yield* Clock.Clock).monotonicTimeNanosUnsafe() / 1_000_000n)
    const last = remembered.get(key)
    if (last !== undefined && readAt - last.readAt < rememberedMs) return last.credential
    const credential = (yield* find(value))?.value
    if (credential === undefined || credential.kind === "link" || credential.kind === "customer") {
      remembered.delete(key)
      return undefined
    }
    remembered.set(key, { credential, readAt })
    return credential
  })

  return Credentials.of({
    authenticate: Effect.fnUntraced(function* (value) {
      const parsed = parseValue(value)
      if (parsed === undefined || parsed.kind === "customer") return undefined
      const credential = yield* recall(value)
      const now = yield* readNow
      if (credential === undefined || !isLive(credential, now)) return undefined
      keyUse.note(toPartition(credential.account), credential.id, DateTime.toEpochMillis(now))
      return toCaller(credential)
    }),
    findLink: Effect.fnUntraced(function* (value) {
      const entry = yield* find(value)
      if (entry?.value.kind !== "link" || !isLive(entry.value, yield* readNow)) return undefined
      return { value: entry.value, version: entry.version }
    }),
    findCustomerSession: Effect.fnUntraced(function* (value) {
      if (parseValue(value)?.kind !== "customer") return undefined
      const session = (yield* find(value))?.value
      const now = yield* readNow
      if (session?.kind !== "customer" || !isLive(session, now)) return undefined
      keyUse.note(toPartition(session.account), session.id, DateTime.toEpochMillis(now))
      return session
    }),
    reencrypt: Effect.provideService(reencryptCredentials(secretBox), Store, store),
    forget: ({ hashes }) => {
      for (const hash of hashes) remembered.delete(hash)
    }
  })
})

/** Recognizes the values of tokens, sessions and links. */
export class Credentials extends Context.Service<
  Credentials,
  {
    /** The caller that a value of a token or a session authenticates; `undefined` for every other value. */
    readonly authenticate: (value: string) => Effect.Effect<CallerShape | undefined, StoreError>
    /** The link with this code, if it can still be used. */
    readonly findLink: (
      code: string
    ) => Effect.Effect<{ readonly value: StoredLink; readonly version: number } | undefined, StoreError>
    /** The session of a customer with this token, if it has not ended. Read anew each time, so that its end acts at once. */
    readonly findCustomerSession: (value: string) => Effect.Effect<StoredCustomerSession | undefined, StoreError>
    /** Renews what is stored of all values under the primary secret. Returns the outcome for each. */
    readonly reencrypt: Effect.Effect<ReadonlyArray<ReencryptOutcome>, StoreError>
    /** Reads a credential again at its next use. */
    readonly forget: (credential: StoredCredential) => void
  }
>()("@tollgate/tokens/Credentials") {
  static readonly layer = Layer.effect(Credentials, make)
}
