/**
 * Processes that run deployments, and are killed in any step, or share a store, or stop: what was begun is run to its end
 * by somebody, once, and what was served is served.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { StoreOperations } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { startRedis } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { pageOf } from "../../sites/test/archives.ts"
import { startTestServer, type TestServer } from "../../sites/test/testServer.ts"
import type { HeldInput } from "./held.worker.ts"

let folder: string
let scope: Scope.Closeable
const children: Array<ChildProcess> = []
const open: Array<() => Promise<void>> = []

beforeEach(() => {
  scope = Scope.makeUnsafe()
  folder = mkdtempSync(join(tmpdir(), "tollgate-crash-"))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  for (const close of open.splice(0).reverse()) await close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
})

const said = async (child: ChildProcess, word: string): Promise<void> => {
  for (;;) {
    const [message] = await once(child, "message")
    if (message === word) return
  }
}

const startHeld = async (input: HeldInput): Promise<ChildProcess> => {
  const child = fork(new URL("./held.worker.ts", import.meta.url), { execArgv: ["--conditions=source"] })
  children.push(child)
  await said(child, "ready")
  child.send(input)
  await said(child, "open")
  return child
}

const openAt = async (kind: "sqlite" | "redis", at: string): Promise<StoreOperations> => {
  const store = kind === "sqlite" ? await SqliteStore.open(at) : await RedisStore.open(at)
  open.push(store.close)
  return store
}

const openHere = async (
  store: StoreOperations,
  options: Parameters<typeof startTestServer>[1] = {}
): Promise<TestServer> => {
  const server = await startTestServer(store, { folder: join(folder, "sites"), ...options })
  open.push(server.close)
  return server
}

/** A server that takes uploads and runs nothing: all its places are taken by runs that never end. */
const openIdle = async (store: StoreOperations, files: string): Promise<TestServer> => {
  const server = await openHere(store, {
    folder: files,
    changed: (same) => ({ ...same, target: { ...same.target, unpack: () => Effect.never } })
  })
  for (let index = 0; index < 4; index++) {
    const { uploadUrl, id } = await server.source(`busy-${index}`)
    await server.put(uploadUrl, pageOf("busy"))
    await vi.waitFor(async () => expect((await server.status(`busy-${index}`, id)).steps.unpack.status).toBe("running"))
  }
  return server
}

const place = async (kind: "sqlite" | "redis", within: string): Promise<string> =>
  kind === "sqlite" ? join(within, "store.db") : (await Effect.runPromise(Scope.provide(startRedis(), scope))).url

type Step = NonNullable<HeldInput["holdAt"]>

/** Kills a process that is in a step of a run, and lets another one live on. */
const killIn = async (kind: "sqlite" | "redis", holdAt: Step): Promise<void> => {
  const own = mkdtempSync(join(folder, `${holdAt}-`))
  const [at, files, command] = [await place(kind, own), join(own, "sites"), "echo built"]
  const store = await openAt(kind, at)
  const first = await startTestServer(store, { folder: files, build: { command } })
  const { url } = await first.deploy("p", pageOf("one"))
  const { pathname } = new URL(url)
  await first.close()

  const idle = await openIdle(store, files)
  const child = await startHeld({ store: kind, at, folder: files, holdAt, command })
  const { uploadUrl, id } = await idle.source("p")
  const held = said(child, "held")
  await idle.put(uploadUrl, pageOf("two"))
  await held
  child.kill("SIGKILL")
  await once(child, "exit")

  expect((await idle.call("GET", pathname)).body).toBe("one")
  const second = await openHere(store, { folder: files, build: { command } })
  expect((await second.call("GET", pathname)).body).toBe("one")
  const ended = await second.ended("p", id)
  expect(ended.status).toBe("SUCCESS")
  expect(ended.buildResult.log).toContain("Taken over from a process that stopped responding")
  expect((await second.call("GET", pathname)).body).toBe("two")
  // The process that finished the run removes the earlier release afterwards, in the background.
  await vi.waitFor(
    () => {
      const { releases, staging } = second.onDisk()
      expect([...releases, ...staging].filter((release) => release.startsWith("p-"))).toEqual([
        expect.stringContaining(id)
      ])
    },
    { timeout: 30_000 }
  )
}

describe("a run", () => {
  it("whose process is killed, in any step, on SQLite and on Redis, is run again, and what was served is served", async () => {
    const steps: ReadonlyArray<Step> = ["unpack", "build", "check", "publish", "commit"]
    await Promise.all((["sqlite", "redis"] as const).flatMap((kind) => steps.map((step) => killIn(kind, step))))
    console.log(
      `deployments: ${2 * steps.length} kills, one in each step on SQLite and on Redis; all run again by another process, what was served stayed until then`
    )
  }, 120_000)
})

describe("two processes on one store", () => {
  it.each(["sqlite", "redis"] as const)(
    "run one upload once, on %s",
    async (kind) => {
      const at = await place(kind, folder)
      const counted = join(folder, "builds")
      const command = `echo $$ >> ${counted}; sleep 0.2`
      const input: HeldInput = { store: kind, at, folder: join(folder, "sites"), command }
      await Promise.all(Array.from({ length: 3 }, () => startHeld(input)))
      const server = await openHere(await openAt(kind, at), { build: { command } })
      const ids: Array<string> = []
      for (let upload = 0; upload < 8; upload++) {
        const { uploadUrl, id } = await server.source(`p${upload}`)
        await server.put(uploadUrl, pageOf("x"))
        ids.push(id)
      }
      for (const [index, id] of ids.entries()) expect((await server.ended(`p${index}`, id)).status).toBe("SUCCESS")
      const builds = readFileSync(counted, "utf8").trim().split("\n").length
      console.log(`deployments, ${kind}: ${ids.length} uploads before 4 processes, run ${builds} times`)
      expect(builds).toBe(ids.length)
    },
    60_000
  )
})

describe("a server that stops", () => {
  it("gives its runs back, so that another begins them at once, and ends their processes", async () => {
    const store = await openAt("sqlite", join(folder, "store.db"))
    const go = join(folder, "go")
    const command = `while [ ! -e ${go} ]; do sleep 0.05; done`
    const first = await startTestServer(store, { folder: join(folder, "sites"), build: { command } })
    const { uploadUrl, id } = await first.source("p")
    await first.put(uploadUrl, pageOf("x"))
    await vi.waitFor(async () => expect((await first.status("p", id)).steps.build.status).toBe("running"))
    await first.close()
    writeFileSync(go, "")
    const second = await openHere(store, { build: { command } })
    const ended = await second.ended("p", id)
    expect(ended.status).toBe("SUCCESS")
    expect(ended.buildResult.log).not.toContain("Taken over from a process that stopped responding")
  }, 30_000)
})

describe("what died processes left behind", () => {
  it("is swept at the next start, and nothing else", async () => {
    const store = MemoryStore.open()
    const first = await startTestServer(store, { folder: join(folder, "sites") })
    const { id, url } = await first.deploy("p", pageOf("served"))
    await first.close()
    const long = new Date(Date.now() - 2 * 60 * 60 * 1000)
    const leave = (place: string, name: string, at?: Date) => {
      const path = join(folder, "sites", place, name)
      writeFileSync(path, "left")
      if (at !== undefined) utimesSync(path, at, at)
    }
    leave("sources", "p-main-0000000.x.y.part", long)
    leave("sources", "p-main-0000000.x.y", long)
    leave("sources", "p-main-0000000.x.young.part")
    leave("releases", "p-main-0000000.x.1")
    for (const name of readdirSync(join(folder, "sites/sources"))) {
      if (name.includes(id)) utimesSync(join(folder, "sites/sources", name), long, long)
    }
    const second = await openHere(store)
    await vi.waitFor(() => {
      expect(second.onDisk().releases).toEqual([expect.stringContaining(id)])
      expect(second.onDisk().sources.sort()).toEqual(["p-main-0000000.x.young.part", expect.stringContaining(id)])
    })
    expect((await second.call("GET", new URL(url).pathname)).body).toBe("served")
    expect(existsSync(join(folder, "sites/sources/p-main-0000000.x.young.part"))).toBe(true)
  })
})
