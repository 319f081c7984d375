/**
 * The instruments, as OpenTelemetry describes them.
 */
import { DataPointType, type MetricData } from "@opentelemetry/sdk-metrics"
import { type Instrument, instruments } from "@tollgate/core/internal"
import { MemoryStore } from "@tollgate/memory"
import { describe, expect, it } from "vitest"
import { allInstruments } from "../../core/test/allModules.ts"
import { useAll } from "../../core/test/telemetry/useAll.ts"
import { registerMetrics } from "./metering.ts"

/** The metrics that Redis and PostgreSQL have and the memory store has not: retries and a queue. */
const ofRemoteStores: ReadonlyArray<Instrument> = [instruments.storeRetries, instruments.storeQueue]

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
    await useAll(MemoryStore.open())
    const declared = allInstruments
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
