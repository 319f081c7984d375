/**
 * Processes that run deployments and are killed in any step, share a store, or stop. Another process finishes each run,
 * exactly once, and the previous release stays available until then.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makePageArchive } from "../../sites/test/archives.ts"
import { startTestServer, type TestServer } from "../../sites/test/testServer.ts"
import type { PausedDeploymentInput } from "./pausedDeployment.worker.ts"
import {
  openSharedStore,
  type SharedStore,
  type SharedStoreKind,
  sharedStoreKinds,
  startSharedStore
} from "./sharedStores.ts"

let folder: string
let scope: Scope.Closeable
const children: Array<ChildProcess> = []
const finalizers: Array<() => Promise<void>> = []

beforeEach(() => {
  scope = Scope.makeUnsafe()
  folder = mkdtempSync(join(tmpdir(), "tollgate-crash-"))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  for (const close of finalizers.splice(0).reverse()) await close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
})

const waitForMessage = async (child: ChildProcess, expected: string): Promise<void> => {
  for (;;) {
    const [message] = await once(child, "message")
    if (message === expected) return
  }
}

const startPausedWorker = async (input: PausedDeploymentInput): Promise<ChildProcess> => {
  const child = fork(new URL("./pausedDeployment.worker.ts", import.meta.url), {
    execArgv: [...getNodeOptions()]
  })
  children.push(child)
  await waitForMessage(child, "ready")
  child.send(input)
  await waitForMessage(child, "open")
  return child
}

const startStore = (kind: SharedStoreKind): Promise<SharedStore> =>
  Effect.runPromise(Scope.provide(startSharedStore(kind), scope))

const openStore = async (shared: SharedStore): Promise<StoreOperations> => {
  const store = await openSharedStore(shared)
  finalizers.push(store.close)
  return store
}

const startServer = async (
  store: StoreOperations,
  options: Parameters<typeof startTestServer>[1] = {}
): Promise<TestServer> => {
  const server = await startTestServer(store, { folder: join(folder, "sites"), ...options })
  finalizers.push(server.close)
  return server
}

/** Starts a server that accepts uploads and runs none of them: runs that never end use all its concurrency. */
const startBusyServer = async (store: StoreOperations, sitesFolder: string): Promise<TestServer> => {
  const server = await startServer(store, {
    folder: sitesFolder,
    mapDeployments: (same) => ({ ...same, target: { ...same.target, unpack: () => Effect.never } })
  })
  for (let index = 0; index < 4; index++) {
    const { uploadUrl, id } = await server.createSource(`busy-${index}`)
    await server.put(uploadUrl, makePageArchive("busy"))
    await eventually(async () => expect((await server.status(`busy-${index}`, id)).steps.unpack.status).toBe("running"))
  }
  return server
}

type Step = NonNullable<PausedDeploymentInput["pauseAt"]>

/** Kills a process during a step of a run, and checks that another process finishes the run. */
const killDuring = async (kind: SharedStoreKind, pauseAt: Step): Promise<void> => {
  const ownFolder = mkdtempSync(join(folder, `${pauseAt}-`))
  const [shared, sitesFolder, command] = [await startStore(kind), join(ownFolder, "sites"), "echo built"]
  const store = await openStore(shared)
  const first = await startTestServer(store, { folder: sitesFolder, build: { command } })
  const { url, id: previousId } = await first.deploy("p", makePageArchive("one"))
  const { pathname } = new URL(url)
  await first.close()

  const busyServer = await startBusyServer(store, sitesFolder)
  const child = await startPausedWorker({ shared, folder: sitesFolder, pauseAt, command })
  const { uploadUrl, id } = await busyServer.createSource("p")
  const paused = waitForMessage(child, "paused")
  await busyServer.put(uploadUrl, makePageArchive("two"))
  await paused
  child.kill("SIGKILL")
  await once(child, "exit")

  expect((await busyServer.call("GET", pathname)).body).toBe("one")
  const second = await startServer(store, { folder: sitesFolder, build: { command } })
  expect((await second.call("GET", pathname)).body).toBe("one")
  const finalStatus = await second.waitForEnd("p", id)
  expect(finalStatus.status).toBe("SUCCESS")
  expect(finalStatus.buildResult.log).toContain("Taken over from a process that stopped responding")
  expect((await second.call("GET", pathname)).body).toBe("two")
  // The process that finishes the run then removes in the background what the killed one has left.
  await eventually(() => {
    const { releases, staging } = second.onDisk()
    const ids = [...releases, ...staging].filter((name) => name.startsWith("p-")).map((name) => name.split(".")[1])
    expect(ids.sort()).toEqual([previousId, id].sort())
  })
}

describe("a run whose process is killed", () => {
  // One store after the other: each kill starts three servers.
  it.each(sharedStoreKinds)(
    "is finished by another process, in every step, and the previous release stays available, on %s",
    async (kind) => {
      const steps: ReadonlyArray<Step> = ["unpack", "build", "check", "publish", "commit"]
      await Promise.all(steps.map((step) => killDuring(kind, step)))
      console.log(
        `deployments, ${kind}: ${steps.length} kills, one in each step; another process finished every run, and the previous release stayed available`
      )
    },
    120_000
  )
})

describe("two processes on one store", () => {
  it.each(sharedStoreKinds)(
    "run each upload exactly once, on %s",
    async (kind) => {
      const shared = await startStore(kind)
      const buildLog = join(folder, "builds")
      const command = `echo $$ >> ${buildLog}; sleep 0.2`
      const input: PausedDeploymentInput = { shared, folder: join(folder, "sites"), command }
      await Promise.all(Array.from({ length: 3 }, () => startPausedWorker(input)))
      const server = await startServer(await openStore(shared), { build: { command } })
      const ids: Array<string> = []
      for (let upload = 0; upload < 8; upload++) {
        const { uploadUrl, id } = await server.createSource(`p${upload}`)
        await server.put(uploadUrl, makePageArchive("x"))
        ids.push(id)
      }
      for (const [index, id] of ids.entries()) expect((await server.waitForEnd(`p${index}`, id)).status).toBe("SUCCESS")
      const builds = readFileSync(buildLog, "utf8").trim().split("\n").length
      console.log(`deployments, ${kind}: ${ids.length} uploads, 4 processes, ${builds} builds`)
      expect(builds).toBe(ids.length)
    },
    60_000
  )
})

describe("a server that stops", () => {
  it("releases its runs, so that another server starts them immediately, and kills their processes", async () => {
    const store = await openStore(await startStore("SQLite"))
    const goFile = join(folder, "go")
    const command = `while [ ! -e ${goFile} ]; do sleep 0.05; done`
    const first = await startTestServer(store, { folder: join(folder, "sites"), build: { command } })
    const { uploadUrl, id } = await first.createSource("p")
    await first.put(uploadUrl, makePageArchive("x"))
    await eventually(async () => expect((await first.status("p", id)).steps.build.status).toBe("running"))
    await first.close()
    writeFileSync(goFile, "")
    const second = await startServer(store, { build: { command } })
    const finalStatus = await second.waitForEnd("p", id)
    expect(finalStatus.status).toBe("SUCCESS")
    expect(finalStatus.buildResult.log).not.toContain("Taken over from a process that stopped responding")
  }, 30_000)
})

describe("files of killed processes", () => {
  it("are deleted at the next start, and no other files", async () => {
    const store = MemoryStore.open()
    const first = await startTestServer(store, { folder: join(folder, "sites") })
    const { id, url } = await first.deploy("p", makePageArchive("served"))
    await first.close()
    const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000)
    const leaveFile = (subfolder: string, name: string, modifiedAt?: Date) => {
      const path = join(folder, "sites", subfolder, name)
      writeFileSync(path, "leftover")
      if (modifiedAt !== undefined) utimesSync(path, modifiedAt, modifiedAt)
    }
    leaveFile("sources", "p-main-0000000.x.y.part", twoHoursAgo)
    leaveFile("sources", "p-main-0000000.x.y", twoHoursAgo)
    leaveFile("sources", "p-main-0000000.x.young.part")
    leaveFile("releases", "p-main-0000000.x.1")
    for (const name of readdirSync(join(folder, "sites/sources"))) {
      if (name.includes(id)) utimesSync(join(folder, "sites/sources", name), twoHoursAgo, twoHoursAgo)
    }
    const second = await startServer(store)
    await eventually(() => {
      expect(second.onDisk().releases).toEqual([expect.stringContaining(id)])
      expect(second.onDisk().sources.sort()).toEqual(["p-main-0000000.x.young.part", expect.stringContaining(id)])
    })
    expect((await second.call("GET", new URL(url).pathname)).body).toBe("served")
    expect(existsSync(join(folder, "sites/sources/p-main-0000000.x.young.part"))).toBe(true)
  })
})
