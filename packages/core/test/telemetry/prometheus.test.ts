/**
 * `/metrics` and `gate.metrics()`, as Prometheus reads them, and the same instruments as OpenTelemetry describes them.
 */
import { DataPointType, type MetricData } from "@opentelemetry/sdk-metrics"
import type { Tollgate } from "@tollgate/core"
import { memorySourceStore, memoryTarget } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { describe, expect, it } from "vitest"
import { type Instrument, instruments } from "../../src/telemetry/instruments.ts"
import { tokens } from "../secrets.ts"
import { respondWith, startReceiver } from "../webhooks/receivers.ts"
import { startGate } from "./gates.ts"
import { registerMetrics } from "./metering.ts"
import { parseFamilies } from "./parsePrometheus.ts"

/** The metrics that Redis and PostgreSQL have and the memory store has not: retries and a queue. */
const ofRemoteStores: ReadonlyArray<Instrument> = [instruments.storeRetries, instruments.storeQueue]

/** Uses everything that has metrics. */
const useAll = async () => {
  const gate = await startGate({
    store: MemoryStore.open(),
    publicUrl: "http://gate",
    verifyCache: { ttl: 1_000 },
    deployments: { sources: memorySourceStore(), target: memoryTarget() },
    onEvent: () => undefined
  })
  const acme = gate.account("acme")
  const receiver = await startReceiver(respondWith(204))
  const webhook = await acme.webhooks.create({ url: receiver.url, events: ["consumer.created"] })
  const production = acme.keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  await production.authorize(apiKeys?.[0]?.key)
  const { deployments } = acme.project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: "main" })
  await deployments.upload(uploadUrl, new TextEncoder().encode("a source"))
  await scrape(gate)
  await eventually(async () => {
    const text = await gate.metrics()
    for (const name of ["tollgate_deployments_total", "tollgate_hooks_calls_total"]) expect(text).toContain(name)
    expect((await acme.webhooks.deliveries(webhook.id)).data[0]?.status).toBe("succeeded")
  })
  return gate
}

const scrape = (gate: Tollgate, token: string | undefined = tokens.admin, method = "GET") =>
  gate.handler(
    new Request("http://gate/metrics", {
      method,
      headers: token === "" ? {} : { authorization: `Bearer ${token}` }
    })
  )

const getSuffix = ({ kind, unit }: Instrument): string => {
  if (kind === "counter") return "_total"
  return unit === "s" ? "_seconds" : ""
}

describe("/metrics", () => {
  it("has every metric with its name, type and description, as a parser reads them", async () => {
    registerMetrics()
    const gate = await useAll()
    const response = await scrape(gate)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(response.headers.get("cache-control")).toBe("no-store")
    const text = await response.text()
    expect(text).toMatch(/\n$/)
    const families = parseFamilies(text).map(({ name, type, help }) => ({ name, type, help }))
    const expected = Object.values<Instrument>(instruments)
      .filter((instrument) => !ofRemoteStores.includes(instrument))
      .map((instrument) => ({
        name: `${instrument.name.replaceAll(".", "_")}${getSuffix(instrument)}`,
        type: instrument.kind.toUpperCase(),
        help: instrument.description
      }))
    const byName = (left: { readonly name: string }, right: { readonly name: string }) =>
      left.name < right.name ? -1 : 1
    expect([...families].sort(byName)).toEqual(expected.sort(byName))
  })

  it("has histograms whose buckets are cumulative and end with the count", async () => {
    const gate = await startGate()
    await scrape(gate)
    await scrape(gate, "")
    const lines = (await gate.metrics()).split("\n").filter((line) => line.includes(`status_code="200"`))
    const counts = lines.filter((line) => line.includes("_bucket{")).map((line) => Number(line.split(" ").at(-1)))
    expect(counts).toHaveLength(instruments.httpRequestDuration.boundaries.length + 1)
    expect(counts).toEqual([...counts].sort((left, right) => left - right))
    expect(counts.at(-1)).toBe(1)
    expect(lines.find((line) => line.includes("_count{"))).toMatch(/ 1$/)
    expect(
      Number(
        lines
          .find((line) => line.includes("_sum{"))
          ?.split(" ")
          .at(-1)
      )
    ).toBeGreaterThan(0)
  })

  it("is for credentials for all accounts", async () => {
    const gate = await startGate()
    for (const [token, status] of [
      [tokens.admin, 200],
      ["", 401],
      ["unknown", 401],
      [tokens.writer, 403],
      [tokens.reader, 403]
    ] as const) {
      const response = await scrape(gate, token)
      expect([token, response.status]).toEqual([token, status])
      if (status !== 200) expect(await response.text()).not.toContain("tollgate_")
    }
    expect(gate.matches("/metrics")).toBe(true)
  })

  it("answers HEAD without a body, and no other method", async () => {
    const gate = await startGate()
    const head = await scrape(gate, tokens.admin, "HEAD")
    expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
      ""
    ])
    expect((await scrape(gate, tokens.admin, "POST")).status).toBe(405)
  })

  it("is off by default, while gate.metrics() has the text", async () => {
    const gate = await startGate({ metrics: undefined })
    expect((await scrape(gate)).status).toBe(404)
    expect(gate.matches("/metrics")).toBe(false)
    expect(parseFamilies(await gate.metrics()).map(({ name }) => name)).toContain(
      "http_server_request_duration_seconds"
    )
  })

  it("has what gate.metrics() has", async () => {
    const gate = await startGate()
    const response = await scrape(gate, "")
    expect(response.status).toBe(401)
    const text = await gate.metrics()
    // The request that reads the metrics is itself active.
    expect(text).toContain("\nhttp_server_active_requests 0\n")
    const served = await (await scrape(gate)).text()
    expect(served).toBe(text.replace("http_server_active_requests 0", "http_server_active_requests 1"))
  })
})

/** Gauges are sums that may decrease, so that values of several processes can be added up. */
const getKind = (data: MetricData): Instrument["kind"] | undefined => {
  if (data.dataPointType === DataPointType.HISTOGRAM) return "histogram"
  if (data.dataPointType !== DataPointType.SUM) return undefined
  return data.isMonotonic ? "counter" : "gauge"
}

const getBoundaries = (data: MetricData): ReadonlyArray<number> | undefined =>
  data.dataPointType === DataPointType.HISTOGRAM ? data.dataPoints[0]?.value.buckets.boundaries : undefined

describe("the metrics of OpenTelemetry", () => {
  it("have the names, units, descriptions and kinds of the instruments", async () => {
    const { collect } = registerMetrics()
    await useAll()
    const declared = Object.values<Instrument>(instruments)
    const collected = await collect()
    const names = collected.map(({ descriptor }) => descriptor.name)
    expect(new Set(names).size).toBe(names.length)
    for (const data of collected) {
      const instrument = declared.find(({ name }) => name === data.descriptor.name)
      expect(data.descriptor).toMatchObject({ unit: instrument?.unit, description: instrument?.description })
      expect([getKind(data), getBoundaries(data)]).toEqual([instrument?.kind, instrument?.boundaries])
      for (const { attributes } of data.dataPoints) {
        expect(instrument?.attributes).toEqual(expect.arrayContaining(Object.keys(attributes)))
      }
    }
    const missing = declared.filter(({ name }) => !names.includes(name))
    expect(missing).toEqual(ofRemoteStores)
  })
})
