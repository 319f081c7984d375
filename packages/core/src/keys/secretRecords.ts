/**
 * Which secrets a store has been used with, by ids that tell nothing of them. A process that has none of them would find
 * no key and open no value; it is refused when it starts.
 */
import { DateTime, Effect, Schema } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { StoreConflict } from "../store/StoreError.ts"

const secretRecords = Collection.make({
  name: "secret",
  format: 1,
  schema: Schema.Struct({ id: Schema.String, firstUsedOn: Timestamp }),
  key: ({ id }) => id
})

const directory = Partition.keysDirectory

const readAll = Effect.map(secretRecords.page(directory, { offset: 0, limit: 1_000 }), ({ entries }) => entries)

/** Refuses secrets that do not fit the store; records the newest, so that it fits from now on. */
export const registerSecrets = (vault: SecretBox["Service"]) => retryOnConflict(register(vault), isConflict)

/** Another process has registered a secret meanwhile, which may be another one. */
const isConflict = (error: unknown): boolean => error instanceof StoreConflict

const register = Effect.fnUntraced(function* ({ secretIds }: SecretBox["Service"]) {
  const store = yield* Store
  const known = yield* readAll
  const isGiven = (entry: (typeof known)[number]) => secretIds.includes(entry.value.id)
  if (known.length > 0 && !known.some(isGiven)) {
    return yield* new ConfigurationError({
      option: "secret",
      problem:
        "this store has been used with another secret; give that one, or, to replace it, the new one first and that one behind it"
    })
  }
  if (!known.every(isGiven)) {
    yield* Effect.logWarning(
      "The store has been used with a secret that is not configured. API keys made under it do not verify, unless they were resealed."
    )
  }
  const [newest = ""] = secretIds
  if (known.some(({ value }) => value.id === newest)) return
  yield* store.commit(directory, [
    secretRecords.insert({ id: newest, firstUsedOn: yield* DateTime.now }),
    secretRecords.assertAtMost(undefined, known.length)
  ])
})

/** Forgets all secrets but the newest, once nothing is under them any more. */
export const retireSecrets = Effect.fnUntraced(function* ({ secretIds }: SecretBox["Service"]) {
  const store = yield* Store
  const retired = (yield* readAll).filter(({ value }) => value.id !== secretIds[0])
  const removed = store.commit(directory, retired.map(secretRecords.remove))
  yield* Effect.catchTag(removed, "StoreConflict", () => Effect.void)
})
