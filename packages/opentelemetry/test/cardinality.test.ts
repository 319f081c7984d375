/**
 * The number of series does not grow with tenants, nor with what clients make up.
 */
import type { Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { describe, expect, it } from "vitest"
import { tokens } from "../../core/test/secrets.ts"
import { repeat, startGate } from "../../core/test/telemetry/gates.ts"
import { registerMetrics } from "./metering.ts"

const send = async (gate: Tollgate, method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
  const authorization = `Bearer ${tokens.admin}`
  const response = await gate.handler(
    new Request(`http://gate${path}`, { method, headers: { authorization, ...headers } })
  )
  await response.text()
}

/** The paths that clients of one tenant ask for: those that exist, and those that only look so. */
const listPaths = (tenant: string): ReadonlyArray<string> => [
  `/v1/accounts/${tenant}/key-buckets/${tenant}-bucket/consumers`,
  `/v1/accounts/${tenant}/key-buckets/${tenant}-bucket/consumers/${tenant}-consumer`,
  `/v1/accounts/${tenant}/key-buckets/${tenant}-bucket/consumers/${tenant}-missing/keys`,
  `/v1/accounts/${tenant}/unknown-${tenant}`,
  `/v1/accounts/{accountName}/${tenant}`,
  `/v1/metering/${tenant}/plans`,
  `/${tenant}?${tenant}=${tenant}`,
  `/v1/%zz${tenant}`,
  `/v1/accounts/${tenant}%00/key-buckets`
]

/** Every tenant has its own consumer and key, and does one thing of each list: twenty tenants do all of them. */
const useAsTenant = async (gate: Tollgate, index: number) => {
  const tenant = `tenant-${index}`
  const bucket = gate.account(tenant).keyBucket(`${tenant}-bucket`)
  const { apiKeys } = await bucket.consumers.create({ name: `${tenant}-consumer` }, { withApiKey: true })
  const key = apiKeys?.[0]?.key ?? ""
  const decisions = [
    () => bucket.authorize(key),
    () => bucket.authorize(key, { rateLimits: [{ name: `${tenant}-limit`, limit: 1, per: "day" }] }),
    () => bucket.authorize(key, { scopes: [`${tenant}:read`] }),
    () => bucket.authorize(key, { metering: { meteringBucketId: `${tenant}-billing` } }).catch(() => undefined),
    () => bucket.authorize(`${tenant}-made-up-key`),
    () => bucket.authorize(`${key.slice(0, -6)}aaaaaa`)
  ]
  await decisions[index % decisions.length]?.()
  const requests = [
    ...listPaths(tenant).map((path) => () => send(gate, "GET", path)),
    () => send(gate, `X${tenant.toUpperCase()}`, `/v1/accounts/${tenant}`),
    () => send(gate, "POST", "/v1/metering", { "x-request-id": tenant, "idempotency-key": tenant })
  ]
  await requests[index % requests.length]?.()
}

/** Whether commits conflict, and whether closing interrupts background work, depends on the load. */
const dependsOnLoad = (name: string): boolean => name.includes('"stale"') || name.includes('"interrupted"')

/** Uses a new gate as this many tenants, and returns the number of series and all text of the metrics. */
const measure = async (tenants: number) => {
  const { collect } = registerMetrics()
  const gate = await startGate({ store: MemoryStore.open(), verifyCache: { ttl: 60_000 } })
  for (let first = 0; first < tenants; first += 100) {
    await Promise.all(repeat(Math.min(100, tenants - first), (index) => useAsTenant(gate, first + index)))
  }
  await gate.close()
  const [text, exported] = [await gate.metrics(), await collect()]
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(" ")))
  const dataPoints = exported.flatMap(({ dataPoints }) =>
    dataPoints.map(({ attributes }) => JSON.stringify(attributes))
  )
  return {
    series: series.filter((name) => !dependsOnLoad(name)).sort(),
    dataPoints: dataPoints.filter((attributes) => !dependsOnLoad(attributes)).sort(),
    output: text + JSON.stringify(exported)
  }
}

describe("the series of metrics", () => {
  it("are as many for 1,000 tenants as for 20, and name none of them", async () => {
    const few = await measure(20)
    const many = await measure(1_000)
    expect(many.series).toEqual(few.series)
    expect(many.dataPoints).toEqual(few.dataPoints)
    expect(few.series.length).toBeGreaterThan(100)
    expect(many.output.toLowerCase()).not.toContain("tenant-")
  }, 300_000)
})
