/**
 * Lists of ten thousand entries of every kind, on every store that one process can fill quickly. Every page is complete,
 * memory stays bounded, and the event loop is not blocked.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { describe, expect, it } from "vitest"
import { sampleCases } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"

const count = 10_000
const account = "acme"
const token = "a-token-of-the-tests-that-may-write"

/** Runs a task for each number below `total`, with limited concurrency. */
const repeat = async (total: number, concurrency: number, task: (index: number) => Promise<unknown>): Promise<void> => {
  for (let first = 0; first < total; first += concurrency) {
    await Promise.all(Array.from({ length: Math.min(concurrency, total - first) }, (_, index) => task(first + index)))
  }
}

const fillStore = async (gate: Tollgate): Promise<ReadonlyArray<string>> => {
  const acme = gate.account(account)
  await acme.keyBucket("keys").consumers.create({ name: "alice" })
  const keys = Array.from({ length: 1_000 }, () => ({ description: "d" }))
  await repeat(count / 1_000, 1, () => acme.keyBucket("keys").keys.createMany("alice", keys))
  await repeat(count, 100, (index) =>
    acme.keyBucket("consumers").consumers.create({ name: `c-${index}`, tags: { team: index % 2 }, description: "d" })
  )
  const { id: bucketId } = await acme.meteringBuckets.create()
  const meteringBucket = acme.meteringBucket(bucketId)
  await repeat(count - 1, 100, () => acme.meteringBuckets.create())
  await repeat(count, 100, (index) =>
    meteringBucket.plans.create({
      label: "P",
      planExternalId: `p-${index}`,
      meters: { requests: { max: index, label: "Requests" } }
    })
  )
  const [plan] = (await meteringBucket.plans.list({ limit: 1 })).data
  await repeat(count, 100, (index) =>
    meteringBucket.subscriptions.create({
      planIds: [plan?.id ?? ""],
      planExternalIds: [plan?.planExternalId ?? ""],
      status: index % 2 === 0 ? "active" : "trialing",
      trialEndDate: "2099-01-01T00:00:00Z",
      type: "periodic",
      renewalStrategy: "monthly",
      region: "us-east1",
      customerKey: `c-${index % 100}`,
      subscriptionExternalId: `s-${index}`,
      customerExternalId: "c"
    })
  )
  const prefix = `/v1/accounts/${account}/key-buckets`
  return [
    `${prefix}/keys/consumers/alice/keys?`,
    `${prefix}/consumers/consumers?`,
    `${prefix}/consumers/consumers?include-api-keys=true&`,
    "/v1/metering?",
    `/v1/metering/${bucketId}/plans?`,
    `/v1/metering/${bucketId}/subscriptions?`
  ]
}

/** Redis takes long to create so many records. */
const largeStores = stores.filter(([name]) => name !== "Redis")

describe.each([...largeStores.slice(0, 1), ...sampleCases(largeStores.slice(1), 0.5)])("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)

  it("lists ten thousand entries of every kind, in pages of a thousand", async () => {
    const gate = await createTollgate({ store: makeEmptyStore(), secret, tokens: [{ token, account }] })
    const lists = await fillStore(gate)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const before = process.memoryUsage().rss
    let [bytes, pages, peak] = [0, 0, before]
    for (const list of lists) {
      for (let offset = 0; offset < count; offset += 1_000) {
        const headers = { authorization: `Bearer ${token}` }
        const response = await gate.handler(new Request(`http://gate${list}limit=1000&offset=${offset}`, { headers }))
        const text = await response.text()
        const page = JSON.parse(text) as { readonly data: ReadonlyArray<unknown>; readonly total: number }
        expect([response.status, page.data.length, page.total], list).toEqual([200, 1_000, count])
        bytes += text.length
        pages++
        peak = Math.max(peak, process.memoryUsage().rss)
      }
    }
    delay.disable()
    console.log(
      `${name}: ${pages} pages, ${Math.round(bytes / 1e6)} MB; event loop delay: p99 ${Math.round(delay.percentile(99) / 1e6)} ms, ` +
        `max ${Math.round(delay.max / 1e6)} ms; memory +${Math.round((peak - before) / 2 ** 20)} MiB`
    )
    expect(delay.percentile(99) / 1e6).toBeLessThan(250)
    expect((peak - before) / 2 ** 20).toBeLessThan(300)
    await gate.close()
  }, 300_000)
})
