/**
 * Tollgate as plain data: what is there, what a step makes of it, or why it is refused. Simple enough to be believed.
 */
import type { Tollgate } from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"
import type { randomFrom } from "./random.ts"

export const [account, bucket] = ["acme", "b"]

interface Key {
  /** As it was supplied; or that it was made by the gate. */
  readonly value: string
  readonly expiresOn: string | undefined
}

interface Subscription {
  readonly plan: string
  readonly status: string
  readonly used: number
}

/** Everything that there is, by its name, or by its id in the external system; keys oldest first. */
export interface Model {
  readonly consumers: Readonly<Record<string, { readonly description: string; readonly keys: ReadonlyArray<Key> }>>
  /** The most that a plan lets its subscribers use. */
  readonly plans: Readonly<Record<string, number>>
  readonly subscriptions: Readonly<Record<string, Subscription>>
}

export const nothing: Model = { consumers: {}, plans: {}, subscriptions: {} }

/** What was found, and what a step needs to name it to the gate. */
export interface Found {
  readonly model: Model
  /** Of plans and subscriptions, by their external ids. */
  readonly ids: ReadonlyMap<string, string>
  readonly keyIds: Readonly<Record<string, ReadonlyArray<string>>>
  /** Whose each value is, for those that are to be let in. */
  readonly bearers: ReadonlyMap<string, string>
  readonly values: ReadonlyArray<string>
}

export interface Step {
  readonly told: string
  readonly run: (gate: Tollgate, bucketId: string, found: Found, once: { idempotencyKey?: string }) => Promise<unknown>
  /** What is there afterwards, or the errors that may refuse it. */
  readonly leadsTo: (model: Model) => Model | ReadonlyArray<string>
  /** It takes an idempotency key: asked again with the same one, it is done once. */
  readonly isOnce?: true
}

export const isRefusal = (outcome: Model | ReadonlyArray<string>): outcome is ReadonlyArray<string> =>
  Array.isArray(outcome)

const supplied = Array.from({ length: 5 }, (_, index) => `value-supplied-by-the-test-${index}`)
const made = "made"
const [past, future] = ["2020-01-01T00:00:00.000Z", "2041-01-01T00:00:00.000Z"]
const none = "none-that-there-is"

/** All that there is, read through the gate. */
export const look = async (gate: Tollgate, bucketId: string): Promise<Found> => {
  const view = { apiKeys: true, keyFormat: "visible" } as const
  const consumers = (await gate.consumers.list(account, bucket, view)).data
  const plans = (await gate.plans.list(bucketId)).data
  const subscriptions = (await gate.subscriptions.list(bucketId)).data
  const quotas = await Promise.all(subscriptions.map(({ id }) => gate.usage.quotas(bucketId, id)))
  const keys = consumers.flatMap(({ name, apiKeys = [] }) => apiKeys.map((key) => ({ name, ...key })))
  return {
    model: {
      consumers: Object.fromEntries(
        consumers.map(({ name, description, apiKeys = [] }) => [
          name,
          {
            description: description ?? "",
            keys: apiKeys.map(({ key = "", expiresOn }) => ({
              value: supplied.includes(key) ? key : made,
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
    bearers: new Map(keys.filter(({ expiresOn }) => expiresOn !== past).map(({ key = "", name }) => [key, name])),
    values: keys.map(({ key = "" }) => key)
  }
}

const without = <A>(all: Readonly<Record<string, A>>, name: string): Readonly<Record<string, A>> =>
  Object.fromEntries(Object.entries(all).filter(([one]) => one !== name))

const isTaken = ({ consumers }: Model, value: string | undefined): boolean =>
  Object.values(consumers).some(({ keys }) => keys.some((key) => key.value === value))

const withKeys = (model: Model, name: string, change: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>) => {
  const consumer = model.consumers[name]
  if (consumer === undefined) return ["ConsumerNotFound"]
  return { ...model, consumers: { ...model.consumers, [name]: { ...consumer, keys: change(consumer.keys) } } }
}

const withSubscription = (
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

const mayConsume = ["active", "past-due"]

/** A step by chance: most find what they need, some do not. */
export const nextStep = ({ pick, below, chance }: ReturnType<typeof randomFrom>): Step => {
  const name = pick(["ann", "bob", "cleo", "dan"])
  const plan = pick(["free", "pro", "team"])
  const subscription = pick(["s-1", "s-2", "s-3", "s-4"])
  const [value, max, amount] = [chance(0.3) ? pick(supplied) : undefined, 1 + below(80), 1 + below(6)]
  const expiresOn = pick([undefined, undefined, future, past])
  const given = { ...(value && { key: value }), ...(expiresOn && { expiresOn }) }
  const fresh: Key = { value: value ?? made, expiresOn }
  const idOf = (found: Found, externalId: string) => found.ids.get(externalId) ?? none

  const changes: ReadonlyArray<() => Step> = [
    () => ({
      told: `create ${name} with the key ${JSON.stringify(given)}`,
      isOnce: true,
      run: (gate, _, __, once) => gate.consumers.create(account, bucket, { name, apiKeys: [given] }, once),
      leadsTo: (model) => {
        const refusals = [
          ...(model.consumers[name] === undefined ? [] : ["ConsumerNameTaken"]),
          ...(isTaken(model, value) ? ["KeyValueTaken"] : [])
        ]
        if (refusals.length > 0) return refusals
        return { ...model, consumers: { ...model.consumers, [name]: { description: "", keys: [fresh] } } }
      }
    }),
    () => ({
      told: `describe ${name} as ${max}`,
      run: (gate) => gate.consumers.update(account, bucket, name, { description: String(max) }),
      leadsTo: (model) => {
        const consumer = model.consumers[name]
        if (consumer === undefined) return ["ConsumerNotFound"]
        return { ...model, consumers: { ...model.consumers, [name]: { ...consumer, description: String(max) } } }
      }
    }),
    () => ({
      told: `create the key ${JSON.stringify(given)} of ${name}`,
      isOnce: true,
      run: (gate, _, __, once) => gate.keys.create(account, bucket, name, given, once),
      leadsTo: (model) =>
        model.consumers[name] !== undefined && isTaken(model, value)
          ? ["KeyValueTaken"]
          : withKeys(model, name, (keys) => [...keys, fresh])
    }),
    () => ({
      told: `roll the keys of ${name}, until ${expiresOn ?? future}`,
      isOnce: true,
      run: (gate, _, __, once) =>
        gate.consumers.rollKey(account, bucket, name, { expiresOn: expiresOn ?? future }, once),
      leadsTo: (model) =>
        withKeys(model, name, (keys) => [
          ...keys.map((key) => ({ ...key, expiresOn: key.expiresOn ?? expiresOn ?? future })),
          { value: made, expiresOn: undefined }
        ])
    }),
    () => ({
      told: `create the plan ${plan} with ${max}`,
      isOnce: true,
      run: (gate, bucketId, _, once) =>
        gate.plans.create(bucketId, { label: plan, planExternalId: plan, meters: { requests: { max } } }, once),
      leadsTo: (model) =>
        plan in model.plans ? ["PlanExternalIdTaken"] : { ...model, plans: { ...model.plans, [plan]: max } }
    }),
    () => ({
      told: `change the plan ${plan} to ${max}`,
      run: (gate, bucketId, found) => gate.plans.update(bucketId, idOf(found, plan), { meters: { requests: { max } } }),
      leadsTo: (model) =>
        plan in model.plans ? { ...model, plans: { ...model.plans, [plan]: max } } : ["PlanNotFound"]
    }),
    () => ({
      told: `subscribe ${subscription} to ${plan}`,
      isOnce: true,
      run: (gate, bucketId, found, once) => {
        const input = makeSubscription(idOf(found, plan), plan, { subscriptionExternalId: subscription })
        return gate.subscriptions.create(bucketId, input, once)
      },
      leadsTo: (model) => {
        const refusals = [
          ...(plan in model.plans ? [] : ["UnknownPlan"]),
          ...(subscription in model.subscriptions ? ["SubscriptionExternalIdTaken"] : [])
        ]
        if (refusals.length > 0) return refusals
        const unused = { plan, status: "active", used: 0 }
        return { ...model, subscriptions: { ...model.subscriptions, [subscription]: unused } }
      }
    }),
    () => {
      const status = pick(["active", "active", "past-due", "canceled"] as const)
      return {
        told: `${subscription} is ${status}`,
        run: (gate, bucketId, found) => gate.subscriptions.update(bucketId, idOf(found, subscription), { status }),
        leadsTo: (model) => withSubscription(model, subscription, (known) => ({ ...known, status }))
      }
    },
    () => ({
      told: `${subscription} changes to ${plan}`,
      run: (gate, bucketId, found) =>
        gate.subscriptions.update(bucketId, idOf(found, subscription), { planExternalIds: [plan] }),
      leadsTo: (model) =>
        withSubscription(model, subscription, (known) => (plan in model.plans ? { ...known, plan } : ["UnknownPlan"]))
    }),
    ...Array.from(
      { length: 4 },
      () => (): Step => ({
        told: `${subscription} uses ${amount}`,
        isOnce: true,
        run: (gate, bucketId, found, once) =>
          gate.usage.consume(bucketId, idOf(found, subscription), { requests: amount }, once),
        leadsTo: (model) =>
          withSubscription(model, subscription, (known) => {
            if (!mayConsume.includes(known.status)) return ["SubscriptionNotActive"]
            const used = known.used + amount
            return used > (model.plans[known.plan] ?? 0) ? ["QuotaExceeded"] : { ...known, used }
          })
      })
    )
  ]
  const removals: ReadonlyArray<() => Step> = [
    () => ({
      told: `remove ${name}`,
      run: (gate) => gate.consumers.remove(account, bucket, name),
      leadsTo: (model) =>
        model.consumers[name] === undefined
          ? ["ConsumerNotFound"]
          : { ...model, consumers: without(model.consumers, name) }
    }),
    () => ({
      told: `remove key ${amount} of ${name}`,
      run: (gate, _, { keyIds }) => gate.keys.remove(account, bucket, name, keyIds[name]?.[amount] ?? none),
      leadsTo: (model) =>
        model.consumers[name] !== undefined && model.consumers[name].keys.length <= amount
          ? ["KeyNotFound"]
          : withKeys(model, name, (keys) => keys.filter((_, index) => index !== amount))
    }),
    () => ({
      told: `remove the plan ${plan}`,
      run: (gate, bucketId, found) => gate.plans.remove(bucketId, idOf(found, plan)),
      leadsTo: (model) => {
        if (!(plan in model.plans)) return ["PlanNotFound"]
        const isInUse = Object.values(model.subscriptions).some((one) => one.plan === plan)
        return isInUse ? ["PlanInUse"] : { ...model, plans: without(model.plans, plan) }
      }
    }),
    () => ({
      told: `remove ${subscription}`,
      run: (gate, bucketId, found) => gate.subscriptions.remove(bucketId, idOf(found, subscription)),
      leadsTo: (model) =>
        subscription in model.subscriptions
          ? { ...model, subscriptions: without(model.subscriptions, subscription) }
          : ["SubscriptionNotFound"]
    })
  ]
  return pick(chance(0.12) ? removals : changes)()
}
