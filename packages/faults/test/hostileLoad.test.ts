/**
 * A hostile tenant does all it can at once: it pipelines, sends bodies that are expensive to parse, lists what is large and
 * does not read it, creates and deletes many keys, floods the event log, occupies webhooks and deployments, invents API keys
 * and fills the store. Another tenant of the same server goes on: its requests, events, webhooks and uploads are measured
 * before the attack and during it.
 *
 * Only with --all, for two minutes on every store: it needs the machine for itself. These variables run it without --all:
 *
 * - `HOSTILE_SECONDS`: how long the attack lasts
 * - `HOSTILE_STORES`: the stores, such as `Redis,Postgres`
 * - `HOSTILE_ATTACKS`: only these attacks, such as `bodies;large lists`, to find out which one is the cause of a failure. They
 *   are the keys of `attacks` in hostileAttacks.ts
 * - `HOSTILE_SEED`: repeats the random choices
 */
import { type ChildProcess, fork } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { getNodeOptions, runWorkers, startPostgres, startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makePageArchive } from "../../sites/test/archives.ts"
import { hostileArchives } from "../../sites/test/hostileArchives.ts"
import { type DnsZone, startDnsServer } from "../../webhooks/test/dnsServer.ts"
import { countStatuses, measureNames, percentile, type Samples, selectBetween, startMeasuring } from "./honestTenant.ts"
import { type AttackInput, type AttackResult, attacks } from "./hostileAttacks.ts"
import type { HostileServer, HostileServerInput } from "./hostileServer.worker.ts"
import { readSeed } from "./random.ts"
import { isComplete } from "./sample.ts"
import { type SharedStore, type SharedStoreKind, sharedStoreKinds } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import { startCountingReceiver } from "./webhookReceiver.ts"

const seconds = Number(process.env["HOSTILE_SECONDS"] ?? 120)
const quietSeconds = 15
const isSelected = isComplete || process.env["HOSTILE_SECONDS"] !== undefined
const selectedStores = process.env["HOSTILE_STORES"]?.split(",") ?? sharedStoreKinds
const selectedAttacks = process.env["HOSTILE_ATTACKS"]?.split(";") ?? Object.keys(attacks)
const seed = readSeed("HOSTILE_SEED")

const mebibyte = 1024 * 1024
/** The bounds. They are generous: two cores are shared by the attacker, the server, its store and the measurement. */
const maxHeapMiB = 512
const maxResidentMiB = 1024
const maxDiskMiB = 3 * 1024
const maxMs = { event: 15_000, webhook: 30_000, upload: 60_000 }
/** If the server waits for a processor half of the time, because others of the machine are busy, everything takes twice as long. */
const maxProtectedMs = (quietMs: number, slowdown: number): number =>
  Math.max(quietMs + 250, 5 * quietMs, 2_000) * slowdown

const tokens = {
  read: "a-read-token-of-the-attacker",
  write: "a-write-token-of-the-attacker",
  honest: "a-write-token-of-the-honest-one"
}

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)), 60_000)

const run = <A>(effect: Effect.Effect<A, never, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Scope.provide(effect, scope))

/** Starts a store. `folder` has all its files. */
const startStore = async (store: SharedStoreKind): Promise<{ shared: SharedStore; folder: string }> => {
  if (store === "SQLite") {
    const folder = await run(temporaryFolder)
    return { folder, shared: { store, location: join(folder, "store.db") } }
  }
  const { url, folder } = await run(store === "Redis" ? startRedis() : startPostgres())
  return { folder, shared: { store, location: url } }
}

/** Archives that expand a thousand times, and as much as is accepted; and those that cost the most to refuse. */
const writeArchives = (folder: string): Pick<AttackInput, "archives" | "expandingArchives"> => {
  const expensive =
    /^(a PAX header of|40 PAX|1,000 PAX|50,000 PAX|100,000 entries|200 paths|2,000 paths|15,000|100 links)/
  const contents = [
    makePageArchive("x", { name: "zeros", content: Buffer.alloc(490 * mebibyte) }),
    makePageArchive(
      "x",
      { name: "noise", content: randomBytes(2 * mebibyte) },
      { name: "zeros", content: Buffer.alloc(150 * mebibyte) }
    ),
    ...hostileArchives.filter(({ name }) => expensive.test(name)).map(({ make }) => make())
  ]
  mkdirSync(folder)
  const archives = contents.map((content, index) => {
    const file = join(folder, `${index}.tar.gz`)
    writeFileSync(file, content)
    return file
  })
  return { archives, expandingArchives: 2 }
}

/** A server that takes requests and never answers. */
const startHangingServer = async (): Promise<string> => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1")
  await once(server, "listening")
  const close = Effect.sync(() => {
    server.close()
    server.closeAllConnections()
  })
  await Effect.runPromise(Scope.addFinalizer(scope, close))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const startServer = async (input: HostileServerInput): Promise<HostileServer & { child: ChildProcess }> => {
  const child = fork(new URL("./hostileServer.worker.ts", import.meta.url), {
    execArgv: [...getNodeOptions(), `--max-old-space-size=${maxHeapMiB}`]
  })
  await Effect.runPromise(
    Scope.addFinalizer(
      scope,
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill("SIGKILL")
        await once(child, "exit")
      })
    )
  )
  const exited = once(child, "exit").then(() => Promise.reject(new Error("The server did not start")))
  child.send(input)
  const [server] = await Promise.race([once(child, "message"), exited])
  exited.catch(() => undefined)
  return { ...(server as HostileServer), child }
}

const silent = { A: "silence", AAAA: "silence" } as const
const zone: DnsZone = {
  "hook.victim.test": { A: ["127.0.0.1"], AAAA: [] },
  ...Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`h${index}.slow.test`, silent]))
}

const measureDiskMiB = (folder: string): number => {
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    bytes += (statSync(join(folder, name), { throwIfNoEntry: false })?.blocks ?? 0) * 512
  }
  return bytes / mebibyte
}

/** How long the main thread of a process has run, and how long it waited for a processor, in nanoseconds. */
const readScheduling = (pid: number | undefined): readonly [ran: number, waited: number] => {
  const [ran = "0", waited = "0"] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")
  return [Number(ran), Number(waited)]
}

interface Use {
  readonly residentMiB: number
  readonly diskMiB: number
  /** How many times as long as with a processor of its own the server has taken for its work. */
  readonly slowdown: number
}

/** Notes the most memory and disk that the server uses, until it is stopped. */
const watchResources = (pid: number | undefined, folders: ReadonlyArray<string>) => {
  const peaks = { residentMiB: 0, diskMiB: 0, slowdown: 1 }
  const [ranBefore, waitedBefore] = readScheduling(pid)
  let isStopped = false
  const watch = async () => {
    while (!isStopped) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8")
      peaks.residentMiB = Math.max(peaks.residentMiB, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
      peaks.diskMiB = Math.max(
        peaks.diskMiB,
        folders.reduce((sum, folder) => sum + measureDiskMiB(folder), 0)
      )
      const [ran, waited] = readScheduling(pid)
      peaks.slowdown = 1 + (waited - waitedBefore) / Math.max(1, ran - ranBefore)
      await delay(500)
    }
  }
  // A server that has exited has no status: the test finds that out itself.
  const watching = watch().catch(() => undefined)
  return async (): Promise<Use> => {
    isStopped = true
    await watching
    return peaks
  }
}

const round = (ms: number): number => Math.round(ms * 10) / 10

const printResults = (
  store: string,
  quiet: Samples,
  during: Samples,
  answers: AttackResult["answers"],
  { residentMiB, diskMiB, slowdown }: Use
) => {
  console.log(
    `hostile load, ${store}: seed ${seed}, ${seconds} s; at most ${residentMiB.toFixed(0)} MiB resident, ` +
      `${diskMiB.toFixed(0)} MiB on the disk; slowed down ${slowdown.toFixed(1)} times by others on the machine`
  )
  console.table(
    measureNames.flatMap((measure) =>
      [["quiet", quiet[measure]] as const, ["during", during[measure]] as const].map(([phase, samples]) => ({
        measure,
        phase,
        n: samples.length,
        "p50 ms": round(percentile(samples, 0.5)),
        "p99 ms": round(percentile(samples, 0.99)),
        "max ms": round(percentile(samples, 1)),
        statuses: JSON.stringify(countStatuses(samples))
      }))
    )
  )
  console.table(selectedAttacks.map((attack) => ({ attack, answers: JSON.stringify(answers[attack] ?? {}) })))
}

describe.skipIf(!isSelected).each(selectedStores.map((store) => store as SharedStoreKind))("on %s", (store) => {
  it(
    "a tenant that attacks does not stop another one",
    async () => {
      const folder = await run(temporaryFolder)
      const archives = writeArchives(join(folder, "archives"))
      const { shared, folder: storeFolder } = await startStore(store)
      const receiver = await startCountingReceiver(scope)
      const { server: dnsServer } = await run(startDnsServer(zone))
      const { child, port, key, meteringBucketId, webhookId } = await startServer({
        shared,
        folder,
        secret,
        tokens: [
          { token: tokens.read, account: "a", access: "read" },
          { token: tokens.write, account: "a" },
          { token: tokens.honest, account: "b" }
        ],
        dnsServer,
        hangingUrl: await startHangingServer(),
        taggedConsumers: isComplete ? 5_000 : 2_000
      })
      const webhook = { url: receiver.url.replace("127.0.0.1", "hook.victim.test"), events: ["consumer.created"] }
      const created = await fetch(`http://127.0.0.1:${port}/v1/accounts/b/webhooks`, {
        method: "POST",
        headers: { authorization: `Bearer ${tokens.honest}` },
        body: JSON.stringify(webhook)
      })
      expect(created.status).toBe(200)
      const honest = { port, token: tokens.honest, key, hasReceived: (id: string) => receiver.ids.has(id) }

      // The first requests compile code, and are not measured.
      const warmUp = startMeasuring(honest)
      await delay(2_000)
      await warmUp.stop()
      const before = startMeasuring(honest)
      await delay(quietSeconds * 1_000)
      const quiet = await before.stop()

      const stopWatching = watchResources(child.pid, [storeFolder, join(folder, "sites")])
      const measuring = startMeasuring(honest)
      const [attack] = await runWorkers<AttackResult>(new URL("./hostileLoad.worker.ts", import.meta.url), [
        {
          port,
          readToken: tokens.read,
          writeToken: tokens.write,
          meteringBucketId,
          webhookId,
          ...archives,
          attacks: selectedAttacks,
          durationMs: seconds * 1_000,
          seed
        } satisfies AttackInput
      ])
      const { answers, start, end } = attack ?? { answers: {}, start: 0, end: 0 }
      const during = selectBetween(await measuring.stop(), start, end)
      const use = await stopWatching()
      printResults(store, quiet, during, answers, use)

      expect([child.exitCode, child.signalCode]).toEqual([null, null])
      for (const name of selectedAttacks) {
        const expected = attacks[name]?.expected ?? ["an attack with this name"]
        expect(Object.keys(answers[name] ?? {}), name).toEqual(expect.arrayContaining(expected.map(String)))
      }
      // Nobody passes with a made-up key.
      expect(Object.keys(answers["made-up keys"] ?? {})).not.toContain("200")

      const statuses = Object.fromEntries(measureNames.map((name) => [name, Object.keys(countStatuses(during[name]))]))
      expect(statuses["protected route"]?.filter((status) => !["200", "429"].includes(status))).toEqual([])
      expect(percentile(during["protected route"], 0.99)).toBeLessThan(
        maxProtectedMs(percentile(quiet["protected route"], 0.99), use.slowdown)
      )
      for (const name of ["event", "webhook", "upload"] as const) {
        expect(during[name].length, name).toBeGreaterThan(0)
        expect(statuses[name], name).toEqual(["200"])
        expect(percentile(during[name], 1), name).toBeLessThan(maxMs[name])
      }
      expect(use.residentMiB).toBeLessThan(maxResidentMiB)
      expect(use.diskMiB).toBeLessThan(maxDiskMiB)
    },
    seconds * 1_000 + 360_000
  )
})
