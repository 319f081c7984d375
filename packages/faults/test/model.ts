/**
 * A simple model of Tollgate as plain data. For each random step it predicts the resulting state or the possible
 * errors.
 */
import type { LocalKeyBucketHandle, MeteringBucketHandle } from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"
import type { Random } from "./random.ts"

/** The buckets that the steps use. */
export interface Buckets {
  readonly keyBucket: LocalKeyBucketHandle
  readonly meteringBucket: MeteringBucketHandle
}

interface Key {
  /** The supplied value, or `generated`. */
  readonly value: string
  readonly expiresOn: string | undefined
}

interface Subscription {
  readonly plan: string
  readonly status: string
  readonly used: number
}

/** All records, by name or external id. Keys are sorted from oldest to newest. */
export interface Model {
  readonly consumers: Readonly<Record<string, { readonly description: string; readonly keys: ReadonlyArray<Key> }>>
  /** The quota of each plan. */
  readonly plans: Readonly<Record<string, number>>
  readonly subscriptions: Readonly<Record<string, Subscription>>
}

export const emptyModel: Model = { consumers: {}, plans: {}, subscriptions: {} }

/** The state read from the gate: as a model, and the generated ids that steps need. */
export interface ObservedState {
  readonly model: Model
  /** The ids of plans and subscriptions, by external id. */
  readonly ids: ReadonlyMap<string, string>
  readonly keyIds: Readonly<Record<string, ReadonlyArray<string>>>
  /** The consumer name of each key that is valid. */
  readonly validKeys: ReadonlyMap<string, string>
  readonly keyValues: ReadonlyArray<string>
}

export interface Step {
  readonly label: string
  readonly run: (buckets: Buckets, state: ObservedState, idempotency: { idempotencyKey?: string }) => Promise<unknown>
  /** The model after the step, or the errors with which the step may fail. */
  readonly predict: (model: Model) => Model | ReadonlyArray<string>
  /** Whether the step accepts an idempotency key. */
  readonly isIdempotent?: true
}

export const isErrorList = (outcome: Model | ReadonlyArray<string>): outcome is ReadonlyArray<string> =>
  Array.isArray(outcome)

const suppliedValues = Array.from({ length: 5 }, (_, index) => `value-supplied-by-the-test-${index}`)
const generated = "generated"
const [past, future] = ["2020-01-01T00:00:00.000Z", "2041-01-01T00:00:00.000Z"]
const unknownId = "unknown-id"

/** Reads all records through the gate. */
export const readState = async ({ keyBucket, meteringBucket }: Buckets): Promise<ObservedState> => {
  const include = { apiKeys: true, keyFormat: "visible" } as const
  const consumers = (await keyBucket.consumers.list(include)).data
  const plans = (await meteringBucket.plans.list()).data
  const subscriptions = (await meteringBucket.subscriptions.list()).data
  const quotas = await Promise.all(subscriptions.map(({ id }) => meteringBucket.usage.quotas(id)))
  const keys = consumers.flatMap(({ name, apiKeys = [] }) => apiKeys.map((key) => ({ name, ...key })))
  return {
    model: {
      consumers: Object.fromEntries(
        consumers.map(({ name, description, apiKeys = [] }) => [
          name,
          {
            description: description ?? "",
            keys: apiKeys.map(({ key = "", expiresOn }) => ({
              value: suppliedValues.includes(key) ? key : generated,
              expiresOn: expiresOn ?? undefined
            }))
          }
        ])
      ),
      plans: Object.fromEntries(
        plans.map(({ planExternalId, meters }) => [planExternalId, meters["requests"]?.max ?? 0])
      ),
      subscriptions: Object.fromEntries(
        subscriptions.map(({ subscriptionExternalId, planExternalIds, status }, index) => [
          subscriptionExternalId,
          { plan: planExternalIds[0] ?? "", status, used: quotas[index]?.meters["requests"]?.used ?? 0 }
        ])
      )
    },
    ids: new Map([
      ...plans.map(({ planExternalId, id }) => [planExternalId, id] as const),
      ...subscriptions.map(({ subscriptionExternalId, id }) => [subscriptionExternalId, id] as const)
    ]),
    keyIds: Object.fromEntries(consumers.map(({ name, apiKeys = [] }) => [name, apiKeys.map(({ id }) => id)])),
    validKeys: new Map(keys.filter(({ expiresOn }) => expiresOn !== past).map(({ key = "", name }) => [key, name])),
    keyValues: keys.map(({ key = "" }) => key)
  }
}

const omit = <A>(records: Readonly<Record<string, A>>, name: string): Readonly<Record<string, A>> =>
  Object.fromEntries(Object.entries(records).filter(([key]) => key !== name))

const isTaken = ({ consumers }: Model, value: string | undefined): boolean =>
  Object.values(consumers).some(({ keys }) => keys.some((key) => key.value === value))

const updateKeys = (model: Model, name: string, change: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>) => {
  const consumer = model.consumers[name]
  if (consumer === undefined) return ["ConsumerNotFound"]
  return { ...model, consumers: { ...model.consumers, [name]: { ...consumer, keys: change(consumer.keys) } } }
}

const updateSubscription = (
  model: Model,
  name: string,
  change: (subscription: Subscription) => Subscription | ReadonlyArray<string>
) => {
  const subscription = model.subscriptions[name]
  if (subscription === undefined) return ["SubscriptionNotFound"]
  const changed = change(subscription)
  return "used" in changed
    ? { ...model, subscriptions: { ...model.subscriptions, [name]: changed } }
    : (changed as ReadonlyArray<string>)
}

const usableStatuses = ["active", "past-due"]

/** A random step. Most steps succeed; some refer to records that do not exist. */
export const makeStep = ({ pick, below, chance }: Random): Step => {
  const name = pick(["ann", "bob", "cleo", "dan"])
  const plan = pick(["free", "pro", "team"])
  const subscription = pick(["s-1", "s-2", "s-3", "s-4"])
  const [value, max, amount] = [chance(0.3) ? pick(suppliedValues) : undefined, 1 + below(80), 1 + below(6)]
  const expiresOn = pick([undefined, undefined, future, past])
  const keyInput = { ...(value && { key: value }), ...(expiresOn && { expiresOn }) }
  const newKey: Key = { value: value ?? generated, expiresOn }
  const getId = (state: ObservedState, externalId: string) => state.ids.get(externalId) ?? unknownId

  const changes: ReadonlyArray<() => Step> = [
    () => ({
      label: `create the consumer ${name} with the key ${JSON.stringify(keyInput)}`,
      isIdempotent: true,
      run: ({ keyBucket }, _, idempotency) => keyBucket.consumers.create({ name, apiKeys: [keyInput] }, idempotency),
      predict: (model) => {
        const errors = [
          ...(model.consumers[name] === undefined ? [] : ["ConsumerNameTaken"]),
          ...(isTaken(model, value) ? ["KeyValueTaken"] : [])
        ]
        if (errors.length > 0) return errors
        return { ...model, consumers: { ...model.consumers, [name]: { description: "", keys: [newKey] } } }
      }
    }),
    () => ({
      label: `set the description of ${name} to ${max}`,
      run: ({ keyBucket }) => keyBucket.consumers.update(name, { description: String(max) }),
      predict: (model) => {
        const consumer = model.consumers[name]
        if (consumer === undefined) return ["ConsumerNotFound"]
        return { ...model, consumers: { ...model.consumers, [name]: { ...consumer, description: String(max) } } }
      }
    }),
    () => ({
      label: `create the key ${JSON.stringify(keyInput)} for ${name}`,
      isIdempotent: true,
      run: ({ keyBucket }, _, idempotency) => keyBucket.keys.create(name, keyInput, idempotency),
      predict: (model) =>
        model.consumers[name] !== undefined && isTaken(model, value)
          ? ["KeyValueTaken"]
          : updateKeys(model, name, (keys) => [...keys, newKey])
    }),
    () => ({
      label: `roll the keys of ${name} with the expiry ${expiresOn ?? future}`,
      isIdempotent: true,
      run: ({ keyBucket }, _, idempotency) =>
        keyBucket.consumers.rollKey(name, { expiresOn: expiresOn ?? future }, idempotency),
      predict: (model) =>
        updateKeys(model, name, (keys) => [
          ...keys.map((key) => ({ ...key, expiresOn: key.expiresOn ?? expiresOn ?? future })),
          { value: generated, expiresOn: undefined }
        ])
    }),
    () => ({
      label: `create the plan ${plan} with the quota ${max}`,
      isIdempotent: true,
      run: ({ meteringBucket }, _, idempotency) =>
        meteringBucket.plans.create({ label: plan, planExternalId: plan, meters: { requests: { max } } }, idempotency),
      predict: (model) =>
        plan in model.plans ? ["PlanExternalIdTaken"] : { ...model, plans: { ...model.plans, [plan]: max } }
    }),
    () => ({
      label: `change the quota of the plan ${plan} to ${max}`,
      run: ({ meteringBucket }, state) =>
        meteringBucket.plans.update(getId(state, plan), { meters: { requests: { max } } }),
      predict: (model) =>
        plan in model.plans ? { ...model, plans: { ...model.plans, [plan]: max } } : ["PlanNotFound"]
    }),
    () => ({
      label: `subscribe ${subscription} to ${plan}`,
      isIdempotent: true,
      run: ({ meteringBucket }, state, idempotency) => {
        const input = makeSubscription(getId(state, plan), plan, { subscriptionExternalId: subscription })
        return meteringBucket.subscriptions.create(input, idempotency)
      },
      predict: (model) => {
        const errors = [
          ...(plan in model.plans ? [] : ["UnknownPlan"]),
          ...(subscription in model.subscriptions ? ["SubscriptionExternalIdTaken"] : [])
        ]
        if (errors.length > 0) return errors
        const unused = { plan, status: "active", used: 0 }
        return { ...model, subscriptions: { ...model.subscriptions, [subscription]: unused } }
      }
    }),
    () => {
      const status = pick(["active", "active", "past-due", "canceled"] as const)
      return {
        label: `set the status of ${subscription} to ${status}`,
        run: ({ meteringBucket }, state) => meteringBucket.subscriptions.update(getId(state, subscription), { status }),
        predict: (model) => updateSubscription(model, subscription, (current) => ({ ...current, status }))
      }
    },
    () => ({
      label: `change the plan of ${subscription} to ${plan}`,
      run: ({ meteringBucket }, state) =>
        meteringBucket.subscriptions.update(getId(state, subscription), { planExternalIds: [plan] }),
      predict: (model) =>
        updateSubscription(model, subscription, (current) =>
          plan in model.plans ? { ...current, plan } : ["UnknownPlan"]
        )
    }),
    ...Array.from(
      { length: 4 },
      () => (): Step => ({
        label: `consume ${amount} of ${subscription}`,
        isIdempotent: true,
        run: ({ meteringBucket }, state, idempotency) =>
          meteringBucket.usage.consume(getId(state, subscription), { requests: amount }, idempotency),
        predict: (model) =>
          updateSubscription(model, subscription, (current) => {
            if (!usableStatuses.includes(current.status)) return ["SubscriptionNotActive"]
            const used = current.used + amount
            return used > (model.plans[current.plan] ?? 0) ? ["QuotaExceeded"] : { ...current, used }
          })
      })
    )
  ]
  const removals: ReadonlyArray<() => Step> = [
    () => ({
      label: `remove ${name}`,
      run: ({ keyBucket }) => keyBucket.consumers.remove(name),
      predict: (model) =>
        model.consumers[name] === undefined
          ? ["ConsumerNotFound"]
          : { ...model, consumers: omit(model.consumers, name) }
    }),
    () => ({
      label: `remove key ${amount} of ${name}`,
      run: ({ keyBucket }, { keyIds }) => keyBucket.keys.remove(name, keyIds[name]?.[amount] ?? unknownId),
      predict: (model) =>
        model.consumers[name] !== undefined && model.consumers[name].keys.length <= amount
          ? ["KeyNotFound"]
          : updateKeys(model, name, (keys) => keys.filter((_, index) => index !== amount))
    }),
    () => ({
      label: `remove the plan ${plan}`,
      run: ({ meteringBucket }, state) => meteringBucket.plans.remove(getId(state, plan)),
      predict: (model) => {
        if (!(plan in model.plans)) return ["PlanNotFound"]
        const isInUse = Object.values(model.subscriptions).some((other) => other.plan === plan)
        return isInUse ? ["PlanInUse"] : { ...model, plans: omit(model.plans, plan) }
      }
    }),
    () => ({
      label: `remove ${subscription}`,
      run: ({ meteringBucket }, state) => meteringBucket.subscriptions.remove(getId(state, subscription)),
      predict: (model) =>
        subscription in model.subscriptions
          ? { ...model, subscriptions: omit(model.subscriptions, subscription) }
          : ["SubscriptionNotFound"]
    })
  ]
  return pick(chance(0.12) ? removals : changes)()
}
