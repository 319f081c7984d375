/**
 * `/metrics` and `gate.metrics()`, as Prometheus reads them.
 */
import { describe, expect, it } from "vitest"
import { type Instrument, instruments } from "../../src/telemetry/instruments.ts"
import { allInstruments } from "../allModules.ts"
import { tokens } from "../secrets.ts"
import { openSqlite, startGate } from "./gates.ts"
import { parseFamilies } from "./parsePrometheus.ts"
import { scrape, useAll } from "./useAll.ts"

const getSuffix = ({ kind, unit }: Instrument): string => {
  if (kind === "counter") return "_total"
  return unit === "s" ? "_seconds" : ""
}

describe("/metrics", () => {
  it("has every metric with its name, type and description, as a parser reads them", async () => {
    const gate = await useAll(await openSqlite())
    const response = await scrape(gate)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(response.headers.get("cache-control")).toBe("no-store")
    const text = await response.text()
    expect(text).toMatch(/\n$/)
    const families = parseFamilies(text).map(({ name, type, help }) => ({ name, type, help }))
    const expected = allInstruments
      .filter((instrument) => instrument !== instruments.storeRetries) // of stores on a server
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
