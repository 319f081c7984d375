/**
 * What a search costs, and what it finds after writes that callers do not make themselves.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { copyStore } from "@tollgate/store/copy"
import { measureTurns } from "@tollgate/testing"
import { expect, it, onTestFinished, vi } from "vitest"
import { secret } from "./stores.ts"

/** Notes the reads of a key bucket. */
const watchReads = (store: StoreOperations) => {
  const reads: Array<string> = []
  const note =
    <A extends readonly [partition: string, unknown?, ...ReadonlyArray<unknown>], B>(
      name: string,
      run: (...args: A) => B
    ) =>
    (...args: A): B => {
      if (args[0].startsWith("keys/acme")) reads.push(name)
      return run(...args)
    }
  const watched: StoreOperations = {
    ...store,
    get: note("get", store.get),
    getByUniqueKey: note("getByUniqueKey", store.getByUniqueKey),
    list: note("list", store.list),
    search: note("search", store.search),
    counters: note("counters", store.counters)
  }
  return { watched, takeReads: () => reads.splice(0) }
}

const open = async (store: StoreOperations, secrets: string | ReadonlyArray<string> = secret) => {
  const gate = await createTollgate({ store, secret: secrets, background: false })
  onTestFinished(() => gate.close())
  return { gate, consumers: gate.account("acme").keyBucket("production").consumers }
}

const find = async ({ consumers }: Awaited<ReturnType<typeof open>>, search: string) =>
  (await consumers.list({ search })).data.map(({ name }) => name)

it("a search takes two reads of the store at most, whatever it finds, and no list", async () => {
  const { watched, takeReads } = watchReads(MemoryStore.open())
  const opened = await open(watched)
  const { consumers } = opened
  for (let index = 0; index < 300; index++) {
    const name = `consumer-${index}`
    await consumers.create({
      name,
      tags: { team: `team-${index % 3}` },
      apiKeys: [{ key: `a-long-key-of-a-customer-${index + 1_000}` }]
    })
  }
  const { data } = await consumers.list({ name: "consumer-7", apiKeys: true })
  takeReads()
  for (const [text, found, reads] of [
    ["consumer", 100, ["search", "get"]],
    ["co", 100, ["search", "get"]],
    ["consumer-299", 1, ["search", "get"]],
    ["team-1", 100, ["search", "get"]],
    ["1299", 1, ["search", "get"]],
    ["nothing", 0, ["search"]],
    [data[0]?.apiKeys?.[0]?.id ?? "", 1, ["get", "get"]]
  ] as const) {
    expect((await find(opened, text)).length, text).toBe(found)
    expect(takeReads(), text).toEqual(reads)
  }
  await consumers.list({ sort: "name", limit: 10 })
  expect(takeReads().toSorted()).toEqual(["get", "list", "search"])
})

it("a consumer with more than 64 terms is found by its name, its id and its first addresses", async () => {
  const opened = await open(MemoryStore.open())
  const managers = Array.from({ length: 100 }, (_, index) => `manager${index}@example${index}.com`)
  const description = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ")
  const { id } = await opened.consumers.create({ name: "a-very-busy-consumer", managers, description })
  for (const text of ["very", "busy", id, "manager0@", "manager20@"]) {
    expect(await find(opened, text), text).toEqual(["a-very-busy-consumer"])
  }
  for (const text of ["manager99@", "word0"]) expect(await find(opened, text), text).toEqual([])
  await opened.consumers.update("a-very-busy-consumer", { managers: [] })
  expect(await find(opened, "word19")).toEqual(["a-very-busy-consumer"])
  expect(await find(opened, "word20")).toEqual([])
})

it("a copy of a store, and keys under another secret, are found as before", async () => {
  const [source, target] = [MemoryStore.open(), await SqliteStore.open(":memory:")]
  const before = await open(source)
  const { apiKeys } = await before.consumers.create(
    { name: "acme-shop", managers: ["jane@example.com"], apiKeys: [{ key: "a-key-of-24-characters-Xy7Z" }] },
    {}
  )
  await before.gate.close()
  await copyStore(source, target)
  const newSecret = "another secret of at least thirty-two characters"
  const after = await open(target, [newSecret, secret])
  const texts = ["shop", "jane@", "Xy7Z", apiKeys?.[0]?.id ?? ""]
  for (const text of texts) expect(await find(after, text), text).toEqual(["acme-shop"])
  expect((await after.gate.reencryptKeys()).reencrypted).toBe(1)
  for (const text of texts) expect(await find(after, text), text).toEqual(["acme-shop"])
  await after.consumers.remove("acme-shop")
  for (const text of texts) expect(await find(after, text), text).toEqual([])
  await target.close()
})

it("texts that normalization makes 18 times as long cost what others cost, when they are stored and when they are searched", async () => {
  const opened = await open(MemoryStore.open())
  // NFKC makes 18 characters of it, and so 4,608 of a value.
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`tag-${index}`, "\ufdfa".repeat(256)]))
  const folded = vi.spyOn(String.prototype, "toUpperCase")
  onTestFinished(() => folded.mockRestore())
  const countFolded = async (work: () => Promise<unknown>): Promise<number> => {
    folded.mockClear()
    await work()
    return folded.mock.calls.length
  }
  // 63 terms of 32 characters, and one more of each to see that it is too long. It was 115,200.
  const maxOfRecord = 63 * 33
  const create = (name: string) => opened.consumers.create({ name, tags })
  expect(await countFolded(() => create("consumer-0"))).toBeLessThan(2 * maxOfRecord)
  for (let index = 1; index < 20; index++) await create(`consumer-${index}`)
  expect(await countFolded(() => find(opened, "consumer"))).toBeLessThan(20 * maxOfRecord)
  expect((await find(opened, "\ufdfa")).length).toBe(20)
}, 60_000)

it("a search of a whole account is made in pieces", async () => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, background: false })
  onTestFinished(() => gate.close())
  const account = gate.account("acme")
  for (let bucket = 0; bucket < 100; bucket++) {
    const { consumers } = account.keyBucket(`bucket-${bucket}`)
    for (let index = 0; index < 20; index++) await consumers.create({ name: `consumer-${index}` })
  }
  const shares: Array<number> = []
  for (let count = 0; count < 3; count++) {
    const { longestCpu, totalCpu, result } = await measureTurns(() => account.search("consumer"))
    expect(result.data).toHaveLength(20)
    shares.push(longestCpu / totalCpu)
  }
  // All of it was one turn. A collection of garbage may fall into any.
  expect(Math.min(...shares)).toBeLessThan(0.5)
}, 60_000)
