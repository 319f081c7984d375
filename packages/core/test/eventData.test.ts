/**
 * The size of the data of an event: at most 16 KiB.
 */
import type { ConsumerJson, EventJson, Versioned } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openGate, readLog } from "./eventGates.ts"

const store = MemoryStore.open()
let gate: Awaited<ReturnType<typeof openGate>>
beforeAll(async () => {
  gate = await openGate(store)
})
afterAll(() => gate.close())

const keyBucketName = "production"
const getConsumers = () => gate.account("acme").keyBucket(keyBucketName).consumers

/** What an event says of a consumer. */
const toData = ({ version: _, ...consumer }: Versioned<ConsumerJson>) => ({
  ...consumer,
  consumerName: consumer.name,
  keyBucketName
})

const readEventOf = async (name: string): Promise<EventJson> => {
  const event = (await readLog(store, gate, "acme")).find(({ subject }) => subject.name === name)
  return event ?? expect.fail("There is no event")
}

const sizeOf = (data: object) => Buffer.byteLength(JSON.stringify(data))
const maxBytes = 16 * 1024
const emoji = "😀"

/** Tags of the largest allowed size, of characters of four bytes. */
const largestTags = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`${index}`.padStart(64, "t"), emoji.repeat(256)])
)
const largestDescription = emoji.repeat(4_096)

describe("the data of an event", () => {
  it("is the whole resource up to 16 KiB, and without its metadata beyond", async () => {
    const create = async (name: string, length: number) => {
      await getConsumers().create({ name, tags: { team: "blue" }, metadata: { text: "a".repeat(length) } })
      return toData(await getConsumers().get(name))
    }
    const overhead = sizeOf({ ...(await create("empty", 0)) }) - 2 * "empty".length
    const largest = await create("largest", maxBytes - overhead - 2 * "largest".length)
    expect(sizeOf(largest)).toBe(maxBytes)
    expect((await readEventOf("largest")).data).toEqual(largest)
    const { metadata: _, ...larger } = await create("larger", maxBytes - overhead - 2 * "larger".length + 1)
    expect((await readEventOf("larger")).data).toEqual({ ...larger, truncated: true })
  })

  it("has no metadata when it is 64 KiB, and all else", async () => {
    await getConsumers().create({ name: "huge", description: "d", metadata: { a: "a".repeat(64 * 1024 - 8) } })
    const { metadata: _, ...rest } = toData(await getConsumers().get("huge"))
    expect((await readEventOf("huge")).data).toEqual({ ...rest, truncated: true })
  })

  it.each([
    ["description", { description: largestDescription, metadata: { a: emoji.repeat(3_000) } }],
    ["tags", { tags: largestTags }],
    ["everything", { description: largestDescription, tags: largestTags, metadata: { a: emoji.repeat(16_000) } }]
  ])("stays below 16 KiB with the largest %s, and still says what it is about", async (field, fields) => {
    const name = field.padEnd(128, "-")
    await getConsumers().create({ name, ...fields })
    const { id, createdOn, updatedOn } = await getConsumers().get(name)
    const { data, subject } = await readEventOf(name)
    expect(sizeOf(data)).toBeLessThanOrEqual(maxBytes)
    expect(data).toMatchObject({ id, name, createdOn, updatedOn, consumerName: name, keyBucketName, truncated: true })
    expect(data).not.toHaveProperty("metadata")
    expect(subject).toEqual({ type: "consumer", id, name })
  })

  it("is bounded for plans and subscriptions too", async () => {
    const billing = await gate.account("acme").meteringBuckets.ensure("billing")
    const metadata = { text: "a".repeat(60_000) }
    await billing.plans.create({ label: "pro", meters: { requests: { max: 5 } } })
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"], metadata })
    await billing.subscriptions.update(id, { status: "past-due" })
    const events = (await readLog(store, gate, "acme")).filter(({ subject }) => subject.id === id)
    expect(events.map(({ data }) => [data["truncated"], data["status"], data["previousStatus"]])).toEqual([
      [true, "active", undefined],
      [true, "past-due", undefined],
      [true, "past-due", "active"]
    ])
  })
})
