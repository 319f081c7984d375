/**
 * Renews what is stored of tokens, sessions and links under the primary secret.
 */
import {
  accountRecords,
  Partition,
  type ReencryptOutcome,
  retryOnConflict,
  type SecretBox,
  Store
} from "@tollgate/core/module"
import { Effect, Option, Stream } from "effect"
import { credentialRecords, ofAccount } from "./credentialRecords.ts"
import { renewValue, toPartition } from "./credentialValues.ts"

const pageSize = 200

const reencryptOne = Effect.fnUntraced(function* (secretBox: SecretBox["Service"], account: string, id: string) {
  const store = yield* Store
  const entry = yield* credentialRecords.get(toPartition(account), id)
  if (Option.isNone(entry)) return "unchanged" as const
  const renewed = yield* Effect.option(renewValue(secretBox, entry.value.value))
  if (Option.isNone(renewed)) return "undecryptable" as const
  if (renewed.value === undefined) return "unchanged" as const
  const value = { ...entry.value.value, ...renewed.value }
  yield* store.commit(toPartition(account), [credentialRecords.replace(entry.value, value)])
  return "reencrypted" as const
})

/** Returns the outcome for each. */
export const reencryptCredentials = Effect.fnUntraced(function* (secretBox: SecretBox["Service"]) {
  const outcomes: Array<ReencryptOutcome> = []
  const reencryptOf = (account: string) =>
    Stream.runForEach(
      credentialRecords.stream(toPartition(account), { where: [ofAccount(account)], pageSize }),
      Effect.fnUntraced(function* ({ value }) {
        outcomes.push(yield* retryOnConflict(reencryptOne(secretBox, account, value.id)))
      })
    )
  yield* reencryptOf("*")
  yield* Stream.runForEach(accountRecords.stream(Partition.accountsDirectory, { pageSize }), ({ value }) =>
    reencryptOf(value.name)
  )
  return outcomes
})
