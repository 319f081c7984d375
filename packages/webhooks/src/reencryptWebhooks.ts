/**
 * Re-encrypts the secrets of all webhooks under the primary secret of the store.
 */
import { accountRecords, keepRevision, Partition, retryOnConflict, type SecretBox, Store } from "@tollgate/core/module"
import { DateTime, Effect, Option, Stream } from "effect"
import { readWebhooks, webhookRecords } from "./webhookRecords.ts"
import { reencryptSecrets } from "./webhookSecrets.ts"

const pageSize = 200

const reencryptOne = Effect.fnUntraced(function* (secretBox: SecretBox["Service"], accountName: string, id: string) {
  const store = yield* Store
  const entry = yield* webhookRecords.get(Partition.forEvents(accountName), id)
  if (Option.isNone(entry)) return "unchanged" as const
  const webhook = entry.value.value
  const result = yield* Effect.option(reencryptSecrets(secretBox, webhook, yield* DateTime.now))
  if (Option.isNone(result)) return "undecryptable" as const
  if (result.value === undefined) return "unchanged" as const
  yield* store.commit(Partition.forEvents(accountName), [
    webhookRecords.replace(entry.value, keepRevision(entry.value, { ...webhook, secrets: result.value }))
  ])
  return "reencrypted" as const
})

/** Returns the outcome for each webhook. */
export const reencryptWebhooks = Effect.fnUntraced(function* (secretBox: SecretBox["Service"]) {
  const outcomes: Array<Effect.Success<ReturnType<typeof reencryptOne>>> = []
  yield* Stream.runForEach(
    accountRecords.stream(Partition.accountsDirectory, { pageSize }),
    Effect.fnUntraced(function* ({ value: { name } }) {
      for (const { value } of yield* readWebhooks(name)) {
        outcomes.push(yield* retryOnConflict(reencryptOne(secretBox, name, value.id)))
      }
    })
  )
  return outcomes
})
