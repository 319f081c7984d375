/**
 * What a module does that takes spans and metrics, and what there is without one.
 */
import { createTollgate } from "@tollgate/core"
import { defineModule, type Module, type TelemetryBridge } from "@tollgate/core/module"
import { MemoryStore } from "@tollgate/memory"
import { Context, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { HostTelemetry } from "../../src/telemetry/HostTelemetry.ts"
import { makeHostContext } from "../../src/telemetry/makeHostContext.ts"
import { secret } from "../secrets.ts"

/** A module that keeps what it takes. */
const makeBridge = (name: string) => {
  const spans: Array<Tracer.NativeSpan> = []
  const recorded: Array<readonly [name: string, value: number]> = []
  const observed = new Map<string, () => number>()
  const bridge: TelemetryBridge = {
    meter: {
      makeRecord: (instrument) => (value) => void recorded.push([instrument.name, value]),
      observe: (instrument, read) => {
        observed.set(instrument.name, read)
        return () => void observed.delete(instrument.name)
      }
    },
    tracer: Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    }),
    getActiveSpan: () => Tracer.externalSpan({ traceId: "trace-of-the-host", spanId: "span-of-the-host" }),
    getRemoteSpan: undefined
  }
  return { module: defineModule({ name, telemetry: () => bridge }), spans, recorded, observed }
}

const open = (modules: ReadonlyArray<Module>) => createTollgate({ store: MemoryStore.open(), secret, modules })

describe("a module that takes spans and metrics", () => {
  it("gets them, until the gate is closed", async () => {
    const { module, spans, recorded, observed } = makeBridge("first")
    const gate = await open([module])
    await gate.account("acme").keyBucket("b").authorize("nonsense")
    expect(recorded).toContainEqual(["tollgate.authorize", 1])
    expect(observed.get("http.server.active_requests")?.()).toBe(0)
    const decision = spans.find(({ name }) => name === "tollgate.authorize")
    expect(decision?.traceId).toBe("trace-of-the-host")
    await gate.close()
    expect(observed.has("http.server.active_requests")).toBe(false)
  })

  it("is the first that has something to give", async () => {
    const none = defineModule({ name: "none", telemetry: () => undefined })
    const [first, second] = [makeBridge("first"), makeBridge("second")]
    const gate = await open([none, first.module, second.module])
    await gate.account("acme").keyBucket("b").authorize("nonsense")
    await gate.close()
    expect(first.spans.map(({ name }) => name)).toContain("tollgate.authorize")
    expect([second.spans, second.recorded]).toEqual([[], []])
  })
})

describe("without such a module", () => {
  it("there is no tracer but Effect's, and no span of the host", () => {
    const { context, isTraced, withActiveSpan } = makeHostContext(undefined)
    expect(Context.get(context, HostTelemetry)).toBeUndefined()
    expect(Context.get(context, Tracer.Tracer)).toBe(Tracer.nativeTracer)
    expect([isTraced, withActiveSpan(context)]).toEqual([false, context])
  })
})
