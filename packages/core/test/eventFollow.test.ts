/**
 * Following the event log of an account, in process and in a client.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { EventJson, EventsHandle, Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog } from "./eventGates.ts"
import { tokens } from "./stores.ts"

const store = MemoryStore.open()
let gate: Tollgate
let other: Tollgate
let baseUrl: string
const server = createServer()
beforeAll(async () => {
  gate = await openGate(store)
  other = await openGate(store)
  server.on("request", toNodeHandler(other)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await Promise.all([gate.close(), other.close()])
})

const create = async (accountName: string, ...names: ReadonlyArray<string>) => {
  for (const name of names) await gate.account(accountName).keyBucket("production").consumers.create({ name })
}

/** The subjects of the next events. */
const take = async (events: AsyncIterable<EventJson>, count: number): Promise<ReadonlyArray<string>> => {
  const subjects: Array<string> = []
  for await (const { subject } of events) {
    subjects.push(subject.name ?? subject.id)
    if (subjects.length === count) break
  }
  return subjects
}

const getFollowers = (accountName: string): ReadonlyArray<readonly [name: string, events: () => EventsHandle]> => [
  ["in process", () => gate.account(accountName).events],
  ["in another process", () => other.account(accountName).events],
  ["in a client", () => createClient({ baseUrl, token: tokens.admin }).account(accountName).events]
]

describe.each(["in process", "in another process", "in a client"])("events.follow %s", (name) => {
  const getEvents = (accountName: string) => {
    const [, events] = getFollowers(accountName).find(([follower]) => follower === name) ?? []
    return events?.() ?? expect.fail("There is no such follower")
  }

  it("returns what arrives after an event, then what arrives later, in order", async () => {
    const accountName = freshAccount()
    await create(accountName, "a", "b", "c")
    const [first] = await readLog(store, gate, accountName)
    const following = take(getEvents(accountName).follow({ after: first?.id }), 4)
    await create(accountName, "d", "e")
    expect(await following).toEqual(["b", "c", "d", "e"])
  })

  it("returns more than one page, each event once", async () => {
    const accountName = freshAccount()
    await create(accountName, "a")
    const { keys } = gate.account(accountName).keyBucket("production")
    const { data } = await keys.createMany(
      "a",
      Array.from({ length: 350 }, () => ({}))
    )
    const [first] = await readLog(store, gate, accountName)
    const following = getEvents(accountName).follow({ after: first?.id })
    expect(await take(following, 350)).toEqual(data.map(({ id }) => id))
  })

  it("starts with the next event, if nothing else is said", async () => {
    const accountName = freshAccount()
    await create(accountName, "old")
    await readLog(store, gate, accountName)
    let isOver = false
    const iterator = getEvents(accountName).follow()[Symbol.asyncIterator]()
    const first = iterator.next().finally(() => {
      isOver = true
    })
    // The follower reads the log for the first time at any moment from now on.
    for (let index = 0; !isOver; index++) {
      await create(accountName, `new-${index}`)
      // Lets the timers of the follower and of the relay run.
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { value } = await first
    expect(value?.subject.name).toMatch(/^new-\d+$/)
    await iterator.return?.()
  })

  it("starts with the oldest event that is left, if the given one was dropped", async () => {
    const accountName = freshAccount()
    await create(accountName, "a", "b", "c", "d")
    const [first] = await readLog(store, gate, accountName)
    const keeping = await openGate(store, { events: { maxEventsPerAccount: 2 } })
    expect((await keeping.account(accountName).events.list()).total).toBe(2)
    await keeping.close()
    expect(await take(getEvents(accountName).follow({ after: first?.id }), 2)).toEqual(["c", "d"])
  })

  it("ends with the reason of its signal, and rejects options that it does not have", async () => {
    const accountName = freshAccount()
    await create(accountName, "a")
    const controller = new AbortController()
    const reason = new Error("enough")
    const following = take(getEvents(accountName).follow({ signal: controller.signal }), 1_000)
    const failure = expect(following).rejects.toBe(reason)
    setImmediate(() => controller.abort(reason))
    await failure
    const aborted = getEvents(accountName).follow({ signal: AbortSignal.abort(reason) })
    await expect(take(aborted, 1)).rejects.toBe(reason)
    for (const options of [{ after: "evt_1" }, { before: "evt_1" }, { type: "key.*" }, { limit: 5 }, null, "evt_1"]) {
      const invalid = getEvents(accountName).follow(options as object)
      await expect(take(invalid, 1)).rejects.toMatchObject({ _tag: "InvalidInput" })
    }
  })
})
