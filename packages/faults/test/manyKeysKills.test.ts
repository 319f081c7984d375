/**
 * Kills a process while it writes rolls and removals of many keys. Readers in another process see each at one moment: once a
 * key has changed, all have, also while nobody writes the rest, and the next process completes it.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout as delay, setImmediate } from "node:timers/promises"
import { createTollgate, type LocalKeyBucketHandle } from "@tollgate/core"
import { Partition } from "@tollgate/store"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { ManyKeysInput } from "./manyKeys.worker.ts"
import { makeRandom, readSeed } from "./random.ts"
import { openSharedStore, type SharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

const kills = 4
const size = 1_200
const seed = readSeed("MANY_KEYS_SEED")

let scope: Scope.Closeable
let child: ChildProcess | undefined
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  child?.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const makeKeys = async ({ consumers, keys }: LocalKeyBucketHandle, name: string) => {
  const { id } = await consumers.create({ name })
  const values: Array<string> = []
  while (values.length < size) {
    const { data } = await keys.createMany(
      name,
      Array.from({ length: 600 }, () => ({}))
    )
    values.push(...data.map(({ key = "" }) => key))
  }
  return { id, values }
}

/** Polls random keys and the list of all. Returns the number of polls, and how often they saw a part of the change. */
const watch = (bucket: LocalKeyBucketHandle, name: string, values: ReadonlyArray<string>, rolled: string) => {
  const random = makeRandom(seed)
  let [polls, partial, isOver, hasChanged] = [0, 0, false, false]
  const isChanged = async (value: string) => {
    const result = await bucket.verify(value)
    return !result.valid || result.expiresOn !== undefined
  }
  const pollKeys = async () => {
    while (!isOver) {
      // Calls on SQLite do not yield to the event loop.
      await setImmediate()
      const changed = await isChanged(random.pick(values))
      polls++
      if (hasChanged && !changed) partial++
      hasChanged ||= changed
    }
  }
  const pollList = async () => {
    while (!isOver) {
      await delay(10)
      const before = hasChanged
      const counts = await bucket.keys.list(name, { limit: 1_000 }).then(
        ({ data, total }) => [
          data.filter(({ expiresOn }) => expiresOn === rolled).length,
          total >= size ? data.length : -1
        ],
        () => [0, 0]
      )
      const [expiring = 0, listed = 0] = counts
      polls++
      // All keys of the first page, or none.
      if (![0, listed].includes(expiring) || listed < 0 || (before && listed > 0 && expiring === 0)) partial++
      hasChanged ||= listed === 0 || expiring > 0
    }
  }
  const polling = Promise.all([pollKeys(), pollList()])
  return {
    stop: async () => {
      isOver = true
      await polling
      return { polls, partial, hasChanged }
    }
  }
}

const startWorker = async (input: ManyKeysInput): Promise<ChildProcess> => {
  const started = fork(new URL("./manyKeys.worker.ts", import.meta.url), { execArgv: [...getNodeOptions()] })
  child = started
  started.send(input)
  await once(started, "message")
  return started
}

it.each(sharedStoreKinds)(
  `rolls and removals on %s that are killed are seen at one moment, and completed (seed ${seed})`,
  async (kind) => {
    const { below } = makeRandom(seed)
    const shared: SharedStore = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const store = await openSharedStore(shared)
    const reader = await createTollgate({ store, secret, background: false })
    const bucket = reader.account("acme").keyBucket("b")
    const rolled = "2100-01-01T00:00:00.000Z"
    const changed: Array<{ readonly name: string; readonly values: ReadonlyArray<string>; readonly isRoll: boolean }> =
      []
    let [polls, interrupted] = [0, 0]
    const count = async (...terms: ReadonlyArray<string>) => {
      const queries = terms.map((term) => ({ indexTerms: [term], offset: 0, limit: 0 }))
      const pages = await Effect.runPromise(store.list(Partition.forKeyBucket("acme", "b"), queries))
      return pages.reduce((sum, { total }) => sum + total, 0)
    }
    const countLeft = () => count("consumer/rolling", "removed-consumer")
    for (let kill = 0; kill < kills; kill++) {
      const [name, isRoll] = [`c-${kill}`, kill % 2 === 0]
      const { id, values } = await makeKeys(bucket, name)
      const watching = watch(bucket, name, values, rolled)
      const worker = await startWorker({ shared, secret, name, rolled: isRoll ? rolled : undefined })
      // The worker has acknowledged the change. Its job begins within two seconds.
      await delay(below(3_000))
      const exited = once(worker, "exit")
      worker.kill("SIGKILL")
      await exited
      const seen = await watching.stop()
      expect({ partial: seen.partial, hasChanged: seen.hasChanged }, `kill ${kill}`).toEqual({
        partial: 0,
        hasChanged: true
      })
      polls += seen.polls
      const unwritten = isRoll ? await count(`key/open:${id}`) : await count(`key/of:${id}`)
      if (unwritten > 1 && unwritten < size) interrupted++
      changed.push({ name, values, isRoll })
    }
    const check = async () => {
      for (const { name, values, isRoll } of changed) {
        for (let index = 0; index < size; index += 50) {
          const value = values[index] ?? ""
          expect(await bucket.verify(value)).toMatchObject(
            isRoll ? { valid: true, expiresOn: rolled } : { valid: false }
          )
        }
        if (!isRoll) continue
        const { data, total } = await bucket.keys.list(name, { limit: 1_000, offset: 201 })
        expect([total, data.filter(({ expiresOn }) => expiresOn === undefined).length]).toEqual([size + 1, 1])
      }
    }
    await check()
    const next = await createTollgate({ store, secret })
    await eventually(async () => expect(await countLeft()).toBe(0))
    await next.close()
    await check()
    expect(await count("key")).toBe((kills / 2) * (size + 1))
    console.log(
      `many keys, ${kind}: ${kills} kills, ${polls} polls saw each roll and removal at one moment; ${interrupted} kills while they were written, which the next processes completed`
    )
    await reader.close()
    await store.close()
  },
  300_000
)
