/**
 * Gates on a shared store, and the event log as the tests read it.
 */
import { createTollgate, type EventJson, type Tollgate, type TollgateOptions } from "@tollgate/core"
import type { DeploymentOptions, DeploymentsModule } from "@tollgate/deployments"
import { Store, type StoreOperations } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { memoryDeployments } from "./allModules.ts"
import { grants, secret } from "./stores.ts"

let count = 0

/** The name of an account that no other test uses. */
export const freshAccount = (): string => `account-${++count}`

/** Creates the consumers `c0`, `c1` and so on, one after the other. */
export const createConsumers = async (gate: Tollgate, accountName: string, count: number, first = 0) => {
  const { consumers } = gate.account(accountName).keyBucket("production")
  for (let index = first; index < first + count; index++) await consumers.create({ name: `c${index}` })
}

export const openGate = (
  store: StoreOperations,
  options: Partial<Omit<TollgateOptions, "modules">> = {},
  deploymentOptions: Partial<DeploymentOptions> = {}
): Promise<Tollgate<DeploymentsModule>> =>
  createTollgate({
    store,
    secret,
    tokens: grants,
    publicUrl: "http://gate",
    modules: [memoryDeployments(deploymentOptions)],
    ...options
  })

/** Opens a store and a gate for the tests of a `describe`. The functions work in its tests and hooks. */
export const useGate = (layer: Layer.Layer<Store, unknown>) => {
  const scope = Scope.makeUnsafe()
  const opened: { store?: StoreOperations; gate?: Tollgate<DeploymentsModule> } = {}
  beforeAll(async () => {
    opened.store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    opened.gate = await openGate(opened.store)
  })
  afterAll(async () => {
    await opened.gate?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  const getOpened = <Name extends keyof typeof opened>(name: Name) => {
    const value = opened[name]
    if (value === undefined) throw new Error(`The ${name} is not open`)
    return value
  }
  return { store: () => getOpened("store"), gate: () => getOpened("gate") }
}

/** Everything in the log of an account, oldest first, after all events have arrived. */
export const readLog = async (
  store: StoreOperations,
  gate: Tollgate,
  accountName: string
): Promise<ReadonlyArray<EventJson>> => {
  await Effect.runPromise(waitForEvents(store))
  const events: Array<EventJson> = []
  for await (const event of gate.account(accountName).events.list({ order: "asc" })) events.push(event)
  return events
}

export const types = (events: ReadonlyArray<EventJson>): ReadonlyArray<string> => events.map(({ type }) => type)

/** A resource without what is only part of the result of a call. */
export const omitVersion = <Resource extends { readonly version: number }>({ version: _, ...resource }: Resource) =>
  resource
