/**
 * Records the ids of the secrets that a store was used with. A process that has none of these secrets could neither
 * find nor decrypt any key, so it fails at startup. An id reveals nothing about its secret.
 */

import {
  Collection,
  ConfigurationError,
  Partition,
  retryOnConflict,
  type SecretBox,
  Store,
  StoreConflict,
  Timestamp
} from "@tollgate/store/internal"
import { DateTime, Effect, Schema } from "effect"

const secretRecords = Collection.make({
  name: "secret",
  format: 1,
  schema: Schema.Struct({ id: Schema.String, firstUsedOn: Timestamp }),
  key: ({ id }) => id
})

const directory = Partition.keysDirectory

const readAll = Effect.map(secretRecords.page(directory, { offset: 0, limit: 1_000 }), ({ entries }) => entries)

/** Fails if the store was used only with other secrets; otherwise records the id of the primary secret. */
export const registerPrimarySecret = (secretBox: SecretBox["Service"]) =>
  retryOnConflict(register(secretBox), isConflict)

/** Any conflict is retried: another process has registered a secret, which may be a different one. */
const isConflict = (error: unknown): boolean => error instanceof StoreConflict

const register = Effect.fnUntraced(function* ({ secretIds }: SecretBox["Service"]) {
  const store = yield* Store
  const registered = yield* readAll
  const isConfigured = (entry: (typeof registered)[number]) => secretIds.includes(entry.value.id)
  if (registered.length > 0 && !registered.some(isConfigured)) {
    return yield* new ConfigurationError({
      option: "secret",
      problem:
        "this store was used with a different secret. Configure that secret. To replace it, configure both: " +
        "[oldSecret, newSecret] in every process, then [newSecret, oldSecret]"
    })
  }
  if (!registered.every(isConfigured)) {
    yield* Effect.logWarning(
      "The store was used with a secret that is not configured. API keys created under it do not verify unless they were re-encrypted."
    )
  }
  const [primary = ""] = secretIds
  if (registered.some(({ value }) => value.id === primary)) return
  yield* store.commit(directory, [
    secretRecords.insert({ id: primary, firstUsedOn: yield* DateTime.now }),
    secretRecords.assertAtMost(undefined, registered.length)
  ])
})

/** Removes all recorded secret ids except that of the primary secret. Call it only when no key needs another secret. */
export const deleteOtherSecretIds = Effect.fnUntraced(function* ({ secretIds }: SecretBox["Service"]) {
  const store = yield* Store
  const otherSecrets = (yield* readAll).filter(({ value }) => value.id !== secretIds[0])
  const remove = store.commit(directory, otherSecrets.map(secretRecords.remove))
  yield* Effect.catchTag(remove, "StoreConflict", () => Effect.void)
})
