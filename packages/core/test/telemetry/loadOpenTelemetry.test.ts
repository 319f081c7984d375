/**
 * Without an SDK, nothing is recorded with OpenTelemetry, although `@opentelemetry/api` is installed.
 */
import * as api from "@opentelemetry/api"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Context, Tracer } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { loadOpenTelemetry } from "../../src/telemetry/loadOpenTelemetry.ts"
import { makeHostContext } from "../../src/telemetry/makeHostContext.ts"
import { OpenTelemetry } from "../../src/telemetry/OpenTelemetry.ts"
import { secret } from "../secrets.ts"
import { readText } from "./gates.ts"
import { registerMetrics, sumSeries } from "./metering.ts"
import { registerTracing } from "./tracing.ts"

afterEach(() => void vi.restoreAllMocks())

describe("OpenTelemetry", () => {
  it("is not used if no SDK is registered", async () => {
    expect(await loadOpenTelemetry()).toBeUndefined()
    const { context, withActiveSpan } = await makeHostContext(undefined)
    expect(Context.get(context, OpenTelemetry)).toBeUndefined()
    expect(Context.get(context, Tracer.Tracer)).toBe(Tracer.nativeTracer)
    expect(withActiveSpan(context)).toBe(context)
  })

  it("is not called if no SDK is registered, while the text of the metrics is complete", async () => {
    const startSpan = vi.spyOn(api.ProxyTracer.prototype, "startSpan")
    const createCounter = vi.spyOn(api.createNoopMeter(), "createCounter")
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    await gate.account("acme").keyBucket("b").authorize("nonsense")
    expect(sumSeries(await readText(gate, "tollgate_authorize_total"))).toBe(1)
    await gate.close()
    expect(startSpan).not.toHaveBeenCalled()
    expect(createCounter).not.toHaveBeenCalled()
  })

  it("is used for metrics only, if only a meter provider is registered", async () => {
    registerMetrics()
    const bridge = await loadOpenTelemetry()
    expect(bridge?.meter).toBeDefined()
    expect(bridge?.tracer).toBeUndefined()
    expect(bridge?.getActiveSpan()).toBeUndefined()
    expect(bridge?.getRemoteSpan).toBeUndefined()
  })

  it("is used for spans only, if only a tracer provider is registered, until it is unregistered", async () => {
    const { unregister } = registerTracing()
    const bridge = await loadOpenTelemetry()
    await unregister()
    expect(bridge?.tracer).toBeDefined()
    expect(bridge?.meter).toBeUndefined()
    expect(await loadOpenTelemetry()).toBeUndefined()
  })
})
