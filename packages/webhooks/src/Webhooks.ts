/**
 * Operations on webhooks and their deliveries. Each change is one commit, with its event.
 */
import {
  Accounts,
  applyPatch,
  type CommitResult,
  checkVersion,
  type Entry,
  EventRetention,
  getRevision,
  Ids,
  implementOperations,
  Limits,
  makeKeyedLocks,
  type Operations,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  type StoreError,
  toPage
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { checkWebhookUrl } from "./checkWebhookUrl.ts"
import { failAllPending } from "./cleanDeliveries.ts"
import { DeliveryId, type StoredDelivery, toDelivery } from "./Delivery.ts"
import { makeDelivery } from "./planDeliveries.ts"
import { makeWebhookEvent, recordWebhookEvent } from "./recordWebhookEvent.ts"
import { reencryptWebhooks } from "./reencryptWebhooks.ts"
import { allEvents, type StoredWebhook, toWebhook, WebhookId } from "./Webhook.ts"
import { WebhookConfig } from "./WebhookConfig.ts"
import { DeliveryNotFound, WebhookDisabled } from "./WebhookError.ts"
import { makeWebhooksApi, type WebhooksApi, type WebhooksMethods } from "./WebhooksApi.ts"
import { limitReached } from "./webhookLimits.ts"
import { byWebhook, deliveryRecords, findWebhook, liveTerm, replaceWebhook, webhookRecords } from "./webhookRecords.ts"
import { rotateSecrets } from "./webhookSecrets.ts"

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const secretBox = yield* SecretBox
  const { allowPrivateNetworks } = yield* WebhookConfig
  const { webhooksPerAccount } = yield* Limits
  const withLock = makeKeyedLocks()
  /** One at a time for each account: a name that does not resolve occupies the resolver for seconds. */
  const checkUrl = (accountName: string, url: string) =>
    withLock(accountName, checkWebhookUrl(url, allowPrivateNetworks, accountName))
  const tooMany = limitReached("webhooksPerAccount", webhooksPerAccount)
  const withRetention = Effect.provideService(EventRetention, yield* EventRetention)
  const recordEvent = (...args: Parameters<typeof recordWebhookEvent>) => withRetention(recordWebhookEvent(...args))

  const findEnabled = Effect.fnUntraced(function* (accountName: string, webhookId: string) {
    const webhook = yield* findWebhook(accountName, webhookId)
    return webhook.value.state === "disabled" ? yield* new WebhookDisabled() : webhook
  })

  const findDelivery = Effect.fnUntraced(function* (accountName: string, webhookId: string, deliveryId: string) {
    const entry = Schema.is(DeliveryId)(deliveryId)
      ? yield* deliveryRecords.get(Partition.forEvents(accountName), deliveryId)
      : Option.none()
    return Option.isNone(entry) || entry.value.value.webhookId !== webhookId
      ? yield* new DeliveryNotFound({ deliveryId: String(deliveryId) })
      : entry.value
  })

  /** A webhook with the version that the commit gave it. */
  const toCommittedEntry = <A extends { readonly id: string }>(value: A, commitResult: CommitResult): Entry<A> => ({
    value,
    version: webhookRecords.getVersion(commitResult, value.id)
  })

  return Webhooks.of({
    reencrypt: Effect.provideService(reencryptWebhooks(secretBox), Store, store),
    ...implementOperations(makeWebhooksApi([]), { store, secretBox })({
      list: Effect.fnUntraced(function* ({ params: { accountName }, query }) {
        const where = [liveTerm]
        const { entries, ...page } = yield* webhookRecords.page(Partition.forEvents(accountName), { where, ...query })
        return toPage(
          query,
          page,
          entries.map(({ value }) => toWebhook(value))
        )
      }),

      create: Effect.fnUntraced(function* ({ params: { accountName }, payload }, once) {
        const partition = Partition.forEvents(accountName)
        const commitOnce = once(partition, toCommittedEntry)
        const { url, events = [allEvents], ...rest } = payload
        const now = yield* DateTime.now
        const id = WebhookId.make(yield* Ids.generate("whk"))
        const { secret, secrets } = yield* rotateSecrets(secretBox, { accountName, id }, [], now)
        const fields = { id, url, events, ...rest, state: "enabled" as const, createdOn: now, updatedOn: now }
        const stored: StoredWebhook = { ...fields, accountName, secrets }
        const commit = Effect.gen(function* () {
          const changes = [
            webhookRecords.insert(stored),
            webhookRecords.assertAtMost(liveTerm, webhooksPerAccount - 1),
            ...(yield* recordEvent("webhook.created", stored))
          ]
          const created = { ...toWebhook(stored), secret }
          return toCommittedEntry(created, yield* commitOnce(changes, created))
        })
        // Before the name is resolved, which is what a refused request would cost.
        const { total } = yield* webhookRecords.page(partition, { where: [liveTerm], offset: 0, limit: 0 })
        if (total >= webhooksPerAccount) return yield* tooMany
        yield* checkUrl(accountName, url)
        yield* accounts.ensureListed(accountName)
        return yield* Effect.mapError(retryOnConflict(commit), (error) =>
          error._tag === "StoreConflict" && error.reason === "too-many-records" ? tooMany : error
        )
      }),

      get: Effect.fnUntraced(function* ({ params: { accountName, webhookId } }) {
        const entry = yield* findWebhook(accountName, webhookId)
        return { value: toWebhook(entry.value), version: getRevision(entry) }
      }),

      update: Effect.fnUntraced(function* ({
        params: { accountName, webhookId },
        headers: { ifMatch } = {},
        payload: patch
      }) {
        if (patch.url !== undefined) {
          yield* findWebhook(accountName, webhookId)
          yield* checkUrl(accountName, patch.url)
        }
        const attempt = Effect.gen(function* () {
          const entry = yield* findWebhook(accountName, webhookId)
          yield* checkVersion({ version: getRevision(entry) }, ifMatch)
          // What was queued before it was disabled is not sent any more.
          if (entry.value.state === "disabled" && patch.state === "enabled") yield* failAllPending(entry.value)
          // An endpoint that is enabled again, or replaced, starts anew.
          const isReset = patch.state === "enabled" || patch.url !== undefined
          const value = applyPatch(entry.value, {
            ...patch,
            ...(patch.state === undefined ? {} : { disabledReason: null }),
            ...(isReset ? { failingSince: null } : {}),
            updatedOn: yield* DateTime.now
          })
          const commitResult = yield* store.commit(Partition.forEvents(accountName), [
            replaceWebhook(entry, value),
            ...(yield* recordEvent("webhook.updated", value))
          ])
          return toCommittedEntry(toWebhook(value), commitResult)
        })
        return yield* retryOnConflict(attempt)
      }),

      remove: Effect.fnUntraced(function* ({ params: { accountName, webhookId }, headers: { ifMatch } = {} }) {
        const attempt = Effect.gen(function* () {
          const entry = yield* findWebhook(accountName, webhookId)
          yield* checkVersion({ version: getRevision(entry) }, ifMatch)
          // Its secrets go at once; the worker removes its deliveries, and then this record.
          const tombstone: StoredWebhook = { ...entry.value, state: "disabled", secrets: [], isDeleted: true }
          yield* store.commit(Partition.forEvents(accountName), [
            replaceWebhook(entry, tombstone),
            ...(yield* recordEvent("webhook.deleted", entry.value))
          ])
        })
        yield* retryOnConflict(attempt)
      }),

      rotateSecret: Effect.fnUntraced(function* ({ params: { accountName, webhookId } }, once) {
        const commitOnce = once(Partition.forEvents(accountName))
        const attempt = Effect.gen(function* () {
          const entry = yield* findWebhook(accountName, webhookId)
          const now = yield* DateTime.now
          const { secret, secrets } = yield* rotateSecrets(secretBox, entry.value, entry.value.secrets, now)
          const value = { ...entry.value, secrets, updatedOn: now }
          const changes = [replaceWebhook(entry, value), ...(yield* recordEvent("webhook.updated", value))]
          yield* commitOnce(changes, { secret })
          return { secret }
        })
        return yield* retryOnConflict(attempt)
      }),

      test: Effect.fnUntraced(function* ({ params: { accountName, webhookId } }, once) {
        const commitOnce = once(Partition.forEvents(accountName))
        const attempt = Effect.gen(function* () {
          const webhook = yield* findEnabled(accountName, webhookId)
          const event = yield* makeWebhookEvent("webhook.test", webhook.value)
          const stored: StoredDelivery = { ...(yield* makeDelivery(webhook.value.id, event)), event }
          const changes = [webhookRecords.assertUnchanged(webhook), deliveryRecords.insert(stored)]
          yield* commitOnce(changes, toDelivery(stored))
          return toDelivery(stored)
        })
        return yield* retryOnConflict(attempt)
      }),

      deliveries: Effect.fnUntraced(function* ({ params: { accountName, webhookId }, query }) {
        yield* findWebhook(accountName, webhookId)
        const newestFirst = { where: [byWebhook(webhookId)], descending: true, mayEndEarly: true, ...query }
        const { entries, ...page } = yield* deliveryRecords.page(Partition.forEvents(accountName), newestFirst)
        return toPage(
          query,
          page,
          entries.map(({ value }) => toDelivery(value))
        )
      }),

      retry: Effect.fnUntraced(function* ({ params: { accountName, webhookId, deliveryId } }, once) {
        const commitOnce = once(Partition.forEvents(accountName))
        const attempt = Effect.gen(function* () {
          yield* findEnabled(accountName, webhookId)
          const entry = yield* findDelivery(accountName, webhookId, deliveryId)
          const { nextAttemptOn: _, holder: __, ...rest } = entry.value
          const value: StoredDelivery = { ...rest, status: "pending", isNew: true }
          yield* commitOnce([deliveryRecords.replace(entry, value)], toDelivery(value))
          return toDelivery(value)
        })
        return yield* retryOnConflict(attempt)
      })
    })
  })
})

/**
 * The operations on webhooks and their deliveries: `list`, `create`, `get`, `update`, `remove`, `rotateSecret`, `test`,
 * `deliveries` and `retry`. Each takes one `OperationRequest`.
 */
export class Webhooks extends Context.Service<
  Webhooks,
  Operations<WebhooksApi, WebhooksMethods> & {
    /** Re-encrypts the secrets of all webhooks under the primary secret. Returns the outcome for each. */
    readonly reencrypt: Effect.Effect<ReadonlyArray<"reencrypted" | "unchanged" | "undecryptable">, StoreError>
  }
>()("@tollgate/webhooks/Webhooks") {
  static readonly layer = Layer.effect(Webhooks, make)
}
