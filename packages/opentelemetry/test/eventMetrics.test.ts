/**
 * The metrics of events, hooks, webhooks and deployments are exactly the numbers of what happened.
 */
import { type DeploymentTarget, memoryTarget, StepFailed } from "@tollgate/deployments"
import { eventually } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { groupBy, readText, repeat, startGate, sumSeries } from "../../core/test/telemetry/gates.ts"
import { respondWith, startReceiver } from "../../webhooks/test/receivers.ts"
import { registerMetrics } from "./metering.ts"

describe("the metrics of events", () => {
  it("are the numbers of events, of calls of hooks, and of attempts to deliver", async () => {
    const { readSeries } = registerMetrics()
    let calls = 0
    const gate = await startGate({
      onEvent: () => {
        calls++
      }
    })
    const acme = gate.account("acme")
    const [good, bad] = [await startReceiver(), await startReceiver(respondWith(503))]
    const webhook = await acme.webhooks.create({ url: good.url, events: ["consumer.created"] })
    const failing = await acme.webhooks.create({ url: bad.url, events: ["consumer.deleted"] })
    const { consumers } = acme.keyBucket("production")
    await Promise.all(repeat(40, (index) => consumers.create({ name: `c-${index}` })))
    const listAttempts = async ({ id }: { readonly id: string }) =>
      (await acme.webhooks.deliveries(id)).data.flatMap(({ attempts }) => attempts)
    await eventually(async () => expect(await listAttempts(webhook)).toHaveLength(40))
    await consumers.remove("c-0")
    await eventually(async () => expect((await listAttempts(failing)).length).toBeGreaterThan(0))
    const events = (await acme.events.list()).total
    await eventually(() => expect(calls).toBe(events))
    await gate.close()
    // Those of webhooks are written to the log directly.
    const moved = events - 2

    const delivered = {
      "succeeded 2xx": good.requests.length,
      "failed 5xx": bad.requests.length
    }
    expect(delivered["succeeded 2xx"]).toBe(40)
    const attempts = [
      await readSeries("tollgate.webhooks.attempts"),
      await readText(gate, "tollgate_webhooks_attempts_total")
    ]
    for (const series of attempts) {
      expect(groupBy(series, "tollgate.outcome", "tollgate.result")).toEqual(delivered)
    }
    const durations = await readSeries("tollgate.webhooks.duration")
    expect(groupBy(durations, "tollgate.outcome")).toEqual({ succeeded: 40, failed: bad.requests.length })
    for (const series of [await readSeries("tollgate.events"), await readText(gate, "tollgate_events_total")]) {
      expect(sumSeries(series)).toBe(moved)
    }
    expect(sumSeries(await readSeries("tollgate.events.delay"))).toBe(moved)
    for (const series of [
      await readSeries("tollgate.hooks.calls"),
      await readText(gate, "tollgate_hooks_calls_total")
    ]) {
      expect(groupBy(series, "tollgate.hook", "tollgate.outcome")).toEqual({ "onEvent succeeded": calls })
    }
  })
})

describe("the metrics of deployments", () => {
  it("are the numbers of deployments by outcome", async () => {
    const { readSeries } = registerMetrics()
    const target: DeploymentTarget = {
      ...memoryTarget(),
      publish: ({ deployment }) =>
        deployment.branchName === "bad" ? Effect.fail(new StepFailed({ problem: "it is bad" })) : Effect.void
    }
    const gate = await startGate({}, { target })
    const { deployments } = gate.account("acme").project("web")
    const deploy = async (branchName: string) => {
      const { uploadUrl } = await deployments.createSource({ branchName })
      const { id } = await deployments.upload(uploadUrl, new TextEncoder().encode("a source"))
      await eventually(async () => expect((await deployments.status(id)).status).not.toBe("IN_PROGRESS"))
    }
    await Promise.all(["a", "b", "c", "bad"].map(deploy))
    const expected = { succeeded: 3, failed: 1 }
    await eventually(async () => {
      for (const name of ["tollgate.deployments", "tollgate.deployments.duration"]) {
        expect(groupBy(await readSeries(name), "tollgate.outcome")).toEqual(expected)
      }
      expect(groupBy(await readText(gate, "tollgate_deployments_total"), "tollgate.outcome")).toEqual(expected)
    })
    for (const name of ["tollgate.deployments.queue", "tollgate.deployments.running"]) {
      await eventually(async () => expect(sumSeries(await readSeries(name))).toBe(0))
    }
  })
})

describe("two gates in one process", () => {
  it("add up to the metrics of the process, and each has its own text", async () => {
    const { readSeries } = registerMetrics()
    const verifyCache = { ttl: 3_600_000 }
    const gates = [await startGate({ verifyCache }), await startGate({ verifyCache })]
    for (const [index, gate] of gates.entries()) {
      const production = gate.account("acme").keyBucket("production")
      for (const number of repeat(index + 2, (number) => number)) {
        const { apiKeys } = await production.consumers.create({ name: `c-${number}` }, { withApiKey: true })
        await production.authorize(apiKeys?.[0]?.key)
      }
    }
    const [first, second] = gates
    if (first === undefined || second === undefined) throw new Error("Expected two gates")
    const counts = async (name: string) => [
      sumSeries(await readText(first, name)),
      sumSeries(await readText(second, name))
    ]
    expect(await counts("tollgate_authorize_total")).toEqual([2, 3])
    expect(await counts("tollgate_verify_cache_lookups_total")).toEqual([2, 3])
    expect(await counts("tollgate_verify_cache_entries")).toEqual([2, 3])
    expect(sumSeries(await readSeries("tollgate.authorize"))).toBe(5)
    expect(sumSeries(await readSeries("tollgate.verify_cache.lookups"))).toBe(5)
    expect(sumSeries(await readSeries("tollgate.verify_cache.entries"))).toBe(5)
    await second.close()
    expect(sumSeries(await readSeries("tollgate.verify_cache.lookups"))).toBe(5)
    expect(sumSeries(await readSeries("tollgate.verify_cache.entries"))).toBe(2)
  })
})
