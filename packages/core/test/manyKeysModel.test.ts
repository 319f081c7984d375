/**
 * Consumers with many keys against a model in which each roll and removal is written to all keys at once, while the job that
 * really writes them dies after any commit. A failure prints its seed; set `MANY_KEYS_SEED` to repeat it.
 */
import { type ApiKeyJson, createTollgate } from "@tollgate/core"
import { Partition, Store, type StoreOperations } from "@tollgate/store"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { makeRandom, readSeed } from "../../faults/test/random.ts"
import { removeOrphans } from "../src/keys/removedConsumers.ts"
import { finishAllRolls } from "../src/keys/rolls.ts"
import { secret } from "./secrets.ts"
import { stores } from "./stores.ts"

const hour = 3_600_000
const steps = 60
/** More than one commit changes. */
const size = 120
const names = ["alice", "bob"]
const partition = Partition.forKeyBucket("acme", "b")

interface Key {
  readonly id: string
  readonly value: string
  readonly expiresOn: string | undefined
  readonly description: string
  /** The version that was read last, if the key has not changed since. */
  readonly version: number | undefined
}

const seed = readSeed("MANY_KEYS_SEED")

describe.each(stores)("consumers with many keys, on %s", (storeName, layer) => {
  it(`answer as if rolls and removals were written at once (seed ${seed})`, async () => {
    const scope = Scope.makeUnsafe()
    const store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    const gate = await createTollgate({ store, secret, background: false })
    const bucket = gate.account("acme").keyBucket("b")
    const { pick, below, chance } = makeRandom(seed)
    const model = new Map<string, Array<Key>>()
    /** The values of consumers that were removed. */
    const free: Array<string> = []
    /** Values that are not valid whatever happens, unless a key takes them again. */
    const isFree = (value: string) => ![...model.values()].flat().some((key) => key.value === value)

    const toKey = ({ id, key = "", expiresOn }: ApiKeyJson): Key => ({
      ...{ id, value: key, expiresOn, description: "", version: undefined }
    })
    const replaceKey = (name: string, id: string, patch: Partial<Key>) =>
      model.set(name, model.get(name)?.map((key) => (key.id === id ? { ...key, ...patch } : key)) ?? [])

    const createConsumer = async (name: string) => {
      await bucket.consumers.create({ name })
      const reused = free.splice(0, size / 2).map((key) => ({ key }))
      const others = Array.from({ length: size - reused.length }, () => ({}))
      const { data } = await bucket.keys.createMany(name, [...reused, ...others])
      model.set(name, data.map(toKey))
    }

    /** Does the work of the job until it is killed before one of its commits. */
    const work = async () => {
      let commits = below(5)
      const commit: StoreOperations["commit"] = (...args) =>
        commits-- === 0 ? Effect.die("killed") : store.commit(...args)
      const all = Effect.andThen(removeOrphans(partition), finishAllRolls(partition))
      await Effect.runPromiseExit(Effect.provideService(all, Store, { ...store, commit }))
    }

    const change = async (name: string, keys: ReadonlyArray<Key>): Promise<string> => {
      const key = pick(keys)
      const expiresOn = new Date(Date.now() + (chance(0.2) ? -1 : 1 + below(5)) * hour).toISOString()
      switch (below(9)) {
        case 0:
        case 1: {
          const rolled = await bucket.consumers.rollKey(name, { expiresOn })
          const old = keys.map((key) => (key.expiresOn === undefined ? { ...key, expiresOn, version: undefined } : key))
          model.set(name, [...old, toKey(rolled)])
          return `roll ${name} ${expiresOn}`
        }
        case 2:
          await bucket.consumers.remove(name)
          model.delete(name)
          free.push(...keys.map(({ value }) => value))
          return `remove ${name}`
        case 3:
          if (key === undefined) return "nothing"
          await bucket.keys.update(name, key.id, { expiresOn: null }, { ifMatch: key.version })
          replaceKey(name, key.id, { expiresOn: undefined, version: undefined })
          return `clear the expiry of ${key.id}`
        case 4:
          if (key === undefined) return "nothing"
          await bucket.keys.update(name, key.id, { expiresOn }, { ifMatch: key.version })
          replaceKey(name, key.id, { expiresOn, version: undefined })
          return `set the expiry of ${key.id}`
        case 5: {
          if (key === undefined) return "nothing"
          const description = `d-${below(1_000_000)}`
          await bucket.keys.update(name, key.id, { description }, { ifMatch: key.version })
          replaceKey(name, key.id, { description, version: undefined })
          return `describe ${key.id}`
        }
        case 6:
          if (key === undefined) return "nothing"
          await bucket.keys.remove(name, key.id, { ifMatch: key.version })
          model.set(
            name,
            keys.filter(({ id }) => id !== key.id)
          )
          return `remove ${key.id}`
        case 7:
          model.set(name, [...keys, toKey(await bucket.keys.create(name))])
          return `create a key of ${name}`
        default:
          await bucket.consumers.update(name, { description: `d-${below(1_000_000)}` })
          return `describe ${name}`
      }
    }

    const check = async (label: string) => {
      for (const name of names) {
        const keys = model.get(name)
        if (keys === undefined) {
          await expect(bucket.keys.list(name), label).rejects.toMatchObject({ _tag: "ConsumerNotFound" })
          continue
        }
        const { data, total } = await bucket.keys.list(name, { limit: 1_000 })
        const shown = data.map(({ id, expiresOn, description = "" }) => ({ id, expiresOn, description }))
        expect({ total, shown }, label).toEqual({
          total: keys.length,
          shown: keys.map(({ id, expiresOn, description }) => ({ id, expiresOn, description }))
        })
        // Some are read often, so that both sides of the job are seen.
        const sample = Array.from({ length: 6 }, (_, index) => pick(index < 3 ? keys.slice(0, 5) : keys))
        for (const { id, value, version, expiresOn } of sample) {
          const read = await bucket.keys.get(name, id)
          if (version !== undefined) expect(read.version, `${label}: the version of ${id}`).toBe(version)
          replaceKey(name, id, { version: read.version })
          const valid = expiresOn === undefined || Date.parse(expiresOn) > Date.now()
          expect(await bucket.verify(value), `${label}: ${id}`).toMatchObject(
            valid ? { valid, consumer: { name }, ...(expiresOn && { expiresOn }) } : { valid }
          )
        }
      }
      for (const value of Array.from({ length: 4 }, () => pick(free))) {
        if (value !== undefined && isFree(value))
          expect(await bucket.verify(value), label).toMatchObject({ valid: false })
      }
    }

    for (let step = 0; step < steps; step++) {
      const name = pick(names)
      const keys = model.get(name)
      const done =
        keys === undefined ? await createConsumer(name).then(() => `create ${name}`) : await change(name, keys)
      if (chance(0.5)) await work()
      await check(`seed ${seed} on ${storeName}, step ${step}, ${done}`)
    }
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
})
