/**
 * Prints the functions of Tollgate that run for one request to a protected route of Express, by store and options, as JSON.
 * A line names a file and a function; one without a name has that of the function around it.
 */

import { once } from "node:events"
import { createServer } from "node:http"
import { type Profiler, Session } from "node:inspector/promises"
import type { AddressInfo } from "node:net"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { createTollgate } from "@tollgate/core"
import { requireApiKey } from "@tollgate/express"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import express from "express"

const packages = join(import.meta.dirname, "../..")
const ownFile = /^([^/.]+)\/src\//
const warmUps = 50
/** Background work may run during a request, but not during each of several. */
const measured = 5

const profiler = new Session()
profiler.connect()
await profiler.post("Profiler.enable")
await profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })

interface Function {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** The functions with a name of each file. V8 tells of a function only when it has run since it was asked last. */
const named = new Map<string, Map<number, Function>>()

const isAround = (outer: Function, inner: Function): boolean => outer.start < inner.start && inner.end <= outer.end

/** The functions of a file that have run, from its beginning to its end. */
const listCalled = ({ url, functions }: Profiler.ScriptCoverage): ReadonlyArray<string> => {
  const file = url.startsWith("file:") ? relative(packages, fileURLToPath(url)) : ""
  if (!ownFile.test(file)) return []
  const known = named.get(file) ?? new Map<number, Function>()
  named.set(file, known)
  const called: Array<Function> = []
  for (const { functionName: name, ranges } of functions) {
    const [{ startOffset: start, endOffset: end, count } = { startOffset: 0, endOffset: 0, count: 0 }] = ranges
    const found = { name, start, end }
    if (name !== "") known.set(start, found)
    if (count > 0) called.push(found)
  }
  const nameAround = (inner: Function): string =>
    [...known.values()].filter((outer) => isAround(outer, inner)).sort((a, b) => b.start - a.start)[0]?.name ?? ""
  return called.map((inner) => `${file} ${inner.name || `(in ${nameAround(inner)})`}`)
}

/** Repeated names are numbered, so that each function counts. */
const number = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Map<string, number>()
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}

const takeCalled = async (): Promise<ReadonlySet<string>> => {
  const { result } = await profiler.post("Profiler.takePreciseCoverage")
  return new Set(number(result.flatMap(listCalled)))
}

const openStores: Readonly<Record<string, () => StoreOperations | Promise<StoreOperations>>> = {
  memory: () => MemoryStore.open(),
  SQLite: () => SqliteStore.open(join(process.argv[2] ?? "", "path.db"))
}

const measure = async (store: StoreOperations): Promise<Readonly<Record<string, ReadonlyArray<string>>>> => {
  const gate = await createTollgate({ store, secret: "test-secret-with-at-least-32-characters", background: false })
  const account = gate.account("acme")
  const production = account.keyBucket("production")
  const billing = await account.meteringBuckets.ensure("default")
  await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 1_000_000 } } })
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
  const app = express()
  const greet: express.RequestHandler = (_req, res) => void res.send("hello")
  app.get("/key", requireApiKey(production), greet)
  const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
  app.get("/meter", requireApiKey(production, { rateLimit: { limit: 10_000, per: "second" }, metering }), greet)
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const headers = { authorization: `Bearer ${apiKeys[0].key}` }

  const trace = async (path: string): Promise<ReadonlyArray<string>> => {
    const request = async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      if ((await response.text()) !== "hello") throw new Error(`${path} responded with ${response.status}`)
    }
    for (let count = 0; count < warmUps; count++) await request()
    const requests: Array<ReadonlySet<string>> = []
    for (let count = 0; count < measured; count++) {
      await takeCalled()
      await request()
      requests.push(await takeCalled())
    }
    return [...(requests[0] ?? [])].filter((name) => requests.every((called) => called.has(name))).sort()
  }

  const traced = { key: await trace("/key"), meter: await trace("/meter") }
  server.close()
  server.closeAllConnections()
  await gate.close()
  return traced
}

const traced: Record<string, unknown> = {}
for (const [name, open] of Object.entries(openStores)) traced[name] = await measure(await open())
process.stdout.write(JSON.stringify(traced))
process.exit()
