/**
 * The keys of a customer, as it sees and manages them.
 */
import { type ApiKey, ApiKeys } from "@tollgate/core/effect"
import { implementOperations, omitUndefined, SecretBox, Store } from "@tollgate/core/module"
import { Effect } from "effect"
import { makeLimitChange } from "./customerChanges.ts"
import { PortalApi } from "./PortalApi.ts"
import { defaultGraceSeconds, type PortalKey } from "./PortalKey.ts"
import type { PortalOptions } from "./portalOptions.ts"

export const defaultMaxKeys = 10

const toPortalKey = ({
  id,
  description,
  key,
  createdOn,
  expiresOn,
  lastUsedOn,
  disabled
}: typeof ApiKey.Type): PortalKey =>
  omitUndefined({ id, name: description, key, createdOn, expiresOn, lastUsedOn, disabled })

export const makeCustomerKeys = ({ maxKeys = defaultMaxKeys, keyScopes }: PortalOptions) =>
  Effect.gen(function* () {
    const store = yield* Store
    const secretBox = yield* SecretBox
    const keys = yield* ApiKeys
    const limitChange = makeLimitChange(store)

    return implementOperations(PortalApi, { store, secretBox })({
      listKeys: Effect.fnUntraced(function* ({ params, query }) {
        const page = yield* keys.list({ params, query }).pipe(Effect.catchTag("KeyNotRetained", Effect.die))
        return { ...page, data: page.data.map(toPortalKey) }
      }),

      createKey: ({ params, payload: { name } }, once) =>
        limitChange(
          params,
          keys.own.create(once, toPortalKey, params, { description: name, maxKeys, scopes: keyScopes })
        ),

      renameKey: Effect.fnUntraced(function* ({ params, payload: { name } }) {
        const rename = keys
          .update({ params, payload: { description: name } })
          .pipe(
            Effect.catchTags({ KeyValueTaken: Effect.die, KeyLimitReached: Effect.die, VersionMismatch: Effect.die })
          )
        const renamed = yield* limitChange(params, rename)
        return toPortalKey(renamed.value)
      }),

      rollKey: ({ params, payload: { expiresIn = defaultGraceSeconds } }, once) =>
        limitChange(
          params,
          keys.own.roll(once, toPortalKey, params, { graceMs: expiresIn * 1_000, maxKeys: 2 * maxKeys })
        ),

      revokeKey: ({ params }) =>
        limitChange(params, keys.remove({ params }).pipe(Effect.catchTag("VersionMismatch", Effect.die)))
    })
  })
