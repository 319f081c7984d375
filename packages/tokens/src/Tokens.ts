/**
 * Operations on the tokens of an account. Each change is one commit, with its event.
 */
import {
  AccountName,
  Accounts,
  applyPatch,
  type CommitResult,
  canGrant,
  checkVersion,
  type Entry,
  type EventType,
  Forbidden,
  findUnknown,
  Ids,
  InvalidInput,
  implementOperations,
  KeyUse,
  Limits,
  listAllPermissions,
  type Operations,
  Principal,
  recordEvent,
  retryOnConflict,
  SecretBox,
  Store,
  skipChecks
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { Credentials } from "./Credentials.ts"
import { findCredential, listCredentials, toVisible } from "./credentialQueries.ts"
import { credentialRecords, ofKind } from "./credentialRecords.ts"
import { generateValue, toPartition } from "./credentialValues.ts"
import { type StoredToken, Token, TokenId } from "./Token.ts"
import { TokenNotFound } from "./TokenError.ts"
import { TokensApi, type TokensMethods } from "./TokensApi.ts"
import { limitReached } from "./tokenLimits.ts"

const encode = Schema.encodeSync(Token, skipChecks)

const toEntry = <A extends Token>(value: A, commitResult: CommitResult): Entry<A> => ({
  value,
  version: credentialRecords.getVersion(commitResult, value.id)
})

const record = (type: Extract<EventType, `token.${string}`>, token: StoredToken) =>
  recordEvent(type, {
    accountName: AccountName.make(token.account),
    subject: { type: "token", id: token.id, name: token.description },
    data: encode(toVisible(token))
  })

const findToken = Effect.fnUntraced(function* (accountName: string, tokenId: string) {
  return (yield* findCredential("token", accountName, tokenId)) ?? (yield* new TokenNotFound({ tokenId }))
})

/** Fails if the caller lacks one of the permissions. A call in process has all. */
const checkGrants = (permissions: ReadonlyArray<string>): Effect.Effect<void, Forbidden> =>
  Effect.flatMap(Effect.serviceOption(Principal), (caller) => {
    const lacking = Option.match(caller, {
      onNone: () => undefined,
      onSome: (caller) => permissions.find((permission) => !canGrant(caller, permission))
    })
    if (lacking === undefined) return Effect.void
    const detail = `This credential cannot grant what it lacks itself: ${lacking}`
    return Effect.fail(new Forbidden({ detail, permission: lacking }))
  })

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const secretBox = yield* SecretBox
  const keyUse = yield* KeyUse
  const credentials = yield* Credentials
  const { tokensPerAccount } = yield* Limits
  const tooMany = limitReached("tokensPerAccount", tokensPerAccount)
  const known = yield* listAllPermissions

  const checkKnown = (permissions: ReadonlyArray<string>) => {
    const detail = `no operation of this server needs it; known are ${known.join(", ")}`
    const errors = permissions.flatMap((permission, index) =>
      findUnknown([permission], known) === undefined ? [] : [{ pointer: `/permissions/${index}`, detail }]
    )
    return errors.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ errors }))
  }

  return Tokens.of(
    implementOperations(TokensApi, { store, secretBox })({
      list: ({ params: { accountName }, query }) => listCredentials(keyUse, "token", accountName, query),

      create: Effect.fnUntraced(function* ({ params: { accountName }, payload }, once) {
        const commitOnce = once(toPartition(accountName), toEntry)
        yield* checkKnown(payload.permissions)
        yield* checkGrants(payload.permissions)
        const now = yield* DateTime.now
        const id = TokenId.make(yield* Ids.generate("tok"))
        const { value, stored } = yield* generateValue(secretBox, "token", accountName, id)
        const token: StoredToken = {
          kind: "token",
          account: accountName,
          id,
          ...payload,
          createdOn: now,
          updatedOn: now,
          ...stored
        }
        yield* accounts.ensureListed(accountName)
        const created = { ...toVisible(token), token: value }
        const commit = Effect.gen(function* () {
          const changes = [
            credentialRecords.insert(token),
            credentialRecords.assertAtMost(ofKind("token", accountName), tokensPerAccount - 1),
            yield* record("token.created", token)
          ]
          return toEntry(created, yield* commitOnce(changes, created))
        })
        return yield* Effect.mapError(retryOnConflict(commit), (error) =>
          error._tag === "StoreConflict" && error.reason === "too-many-records" ? tooMany : error
        )
      }),

      get: Effect.fnUntraced(function* ({ params: { accountName, tokenId } }) {
        const { value, version } = yield* findToken(accountName, tokenId)
        const [lastUsedOn] = yield* keyUse.read(toPartition(accountName), [value.id])
        return { value: toVisible(value, lastUsedOn), version }
      }),

      update: Effect.fnUntraced(function* ({
        params: { accountName, tokenId },
        headers: { ifMatch } = {},
        payload: patch
      }) {
        if (patch.permissions !== undefined) yield* checkKnown(patch.permissions)
        const attempt = Effect.gen(function* () {
          const entry = yield* findToken(accountName, tokenId)
          yield* checkVersion(entry, ifMatch)
          const value = applyPatch(entry.value, { ...patch, updatedOn: yield* DateTime.now })
          yield* checkGrants([...entry.value.permissions, ...value.permissions])
          const changes = [credentialRecords.replace(entry, value), yield* record("token.updated", value)]
          const commitResult = yield* store.commit(toPartition(accountName), changes)
          credentials.forget(value)
          return toEntry(toVisible(value), commitResult)
        })
        return yield* retryOnConflict(attempt)
      }),

      remove: Effect.fnUntraced(function* ({ params: { accountName, tokenId }, headers: { ifMatch } = {} }) {
        const attempt = Effect.gen(function* () {
          const entry = yield* findToken(accountName, tokenId)
          yield* checkVersion(entry, ifMatch)
          const changes = [credentialRecords.remove(entry), yield* record("token.deleted", entry.value)]
          yield* store.commit(toPartition(accountName), changes)
          credentials.forget(entry.value)
        })
        yield* retryOnConflict(attempt)
      })
    })
  )
})

/** The operations on tokens: `list`, `create`, `get`, `update` and `remove`. Each takes one `OperationRequest`. */
export class Tokens extends Context.Service<Tokens, Operations<typeof TokensApi, TokensMethods>>()(
  "@tollgate/tokens/Tokens"
) {
  static readonly layer = Layer.effect(Tokens, make)
}
