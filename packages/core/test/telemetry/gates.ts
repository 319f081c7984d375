/**
 * Gates whose metrics the tests read, and how they compare numbers of calls with numbers of series.
 */

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { decisions } from "@tollgate/decisions"
import type { DeploymentOptions } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { openTelemetry } from "@tollgate/opentelemetry"
import { customerPortal } from "@tollgate/portal"
import { SqliteStore } from "@tollgate/sqlite"
import { tokens } from "@tollgate/tokens"
import { webhooks } from "@tollgate/webhooks"
import { onTestFinished } from "vitest"
import { type Gate, memoryDeployments } from "../allModules.ts"
import { grants, secret } from "../secrets.ts"
import { parseSeries, type Series } from "./parsePrometheus.ts"

export const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Starts a gate that is closed when the test ends. */
export const startGate = async (
  options: Partial<Omit<TollgateOptions, "modules">> = {},
  deploymentOptions: Partial<DeploymentOptions> = {}
): Promise<Gate> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: grants,
    logger: silent,
    metrics: true,
    publicUrl: "http://gate",
    modules: [
      webhooks({ allowPrivateNetworks: true }),
      memoryDeployments(deploymentOptions),
      openTelemetry(),
      tokens(),
      decisions(),
      customerPortal()
    ],
    ...options
  })
  onTestFinished(() => gate.close())
  return gate
}

export const openSqlite = async () => {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-"))
  const store = await SqliteStore.open(join(folder, "store.db"))
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return store
}

/** Counts values, as text. */
export const countBy = (values: ReadonlyArray<string>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** The series by the values of some attributes, as `countBy` counts them. Series without a value are left out. */
export const groupBy = (
  series: ReadonlyArray<Series>,
  ...names: ReadonlyArray<string>
): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const { attributes, value } of series) {
    const key = names.map((name) => attributes[name] ?? "").join(" ")
    if (value > 0) sums[key] = (sums[key] ?? 0) + value
  }
  return sums
}

/** The sum of all series that have these attributes. */
export const sumSeries = (series: ReadonlyArray<Series>, attributes: Readonly<Record<string, unknown>> = {}): number =>
  series
    .filter((one) => Object.entries(attributes).every(([key, value]) => one.attributes[key] === value))
    .reduce((sum, { value }) => sum + value, 0)

export const repeat = <A>(times: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: times }, (_, index) => make(index))

/** The series with this name in `gate.metrics()`. */
export const readText = async (gate: Tollgate, name: string) => parseSeries(await gate.metrics(), name)
