/**
 * Without an SDK, and without the module, nothing is recorded with OpenTelemetry.
 */
import * as api from "@opentelemetry/api"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { type OpenTelemetryModule, openTelemetry } from "@tollgate/opentelemetry"
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest"
import { secret } from "../../core/test/secrets.ts"
import { readText, sumSeries } from "../../core/test/telemetry/gates.ts"
import { connectSdk } from "../src/connectSdk.ts"
import { registerMetrics } from "./metering.ts"
import { registerTracing } from "./tracing.ts"

afterEach(() => void vi.restoreAllMocks())

/** Decides once, with a gate that has these modules. The text of the metrics is complete with any. */
const decideOnce = async (modules: ReadonlyArray<OpenTelemetryModule>) => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, modules })
  await gate.account("acme").keyBucket("b").authorize("nonsense")
  expect(sumSeries(await readText(gate, "tollgate_authorize_total"))).toBe(1)
  await gate.close()
}

describe("OpenTelemetry", () => {
  it("is not called if no SDK is registered, while the text of the metrics is complete", async () => {
    const startSpan = vi.spyOn(api.ProxyTracer.prototype, "startSpan")
    const createCounter = vi.spyOn(api.createNoopMeter(), "createCounter")
    expect(connectSdk()).toBeUndefined()
    await decideOnce([openTelemetry()])
    expect(startSpan).not.toHaveBeenCalled()
    expect(createCounter).not.toHaveBeenCalled()
  })

  it("is not used without the module, although an SDK is registered", async () => {
    const { getSpans, unregister } = registerTracing()
    onTestFinished(unregister)
    const { collect, readSeries } = registerMetrics()
    await decideOnce([])
    expect(getSpans()).toEqual([])
    expect(await collect()).toEqual([])
    await decideOnce([openTelemetry()])
    expect(getSpans().map(({ name }) => name)).toContain("tollgate.authorize")
    expect(sumSeries(await readSeries("tollgate.authorize"))).toBe(1)
  })

  it("is used for metrics only, if only a meter provider is registered", () => {
    registerMetrics()
    const bridge = connectSdk()
    expect(bridge?.meter).toBeDefined()
    expect(bridge?.tracer).toBeUndefined()
    expect(bridge?.getActiveSpan()).toBeUndefined()
    expect(bridge?.getRemoteSpan).toBeUndefined()
  })

  it("is used for spans only, if only a tracer provider is registered, until it is unregistered", async () => {
    const { unregister } = registerTracing()
    const bridge = connectSdk()
    await unregister()
    expect(bridge?.tracer).toBeDefined()
    expect(bridge?.meter).toBeUndefined()
    expect(connectSdk()).toBeUndefined()
  })
})
