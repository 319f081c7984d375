/**
 * Two processes that upload, roll back and promote the same deployment at once, and are killed. What is served and what is
 * kept is whole afterwards: each version has exactly its files.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { startTestServer } from "../../sites/test/testServer.ts"
import type { RollbackInput } from "./rollback.worker.ts"
import { getSharedFiles } from "./rollbackSites.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"

let folder: string
let scope: Scope.Closeable
const children: Array<ChildProcess> = []
beforeEach(() => {
  scope = Scope.makeUnsafe()
  folder = mkdtempSync(join(tmpdir(), "tollgate-rollback-"))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
})

const kills = 6

interface Upload {
  readonly id: string
  readonly number: number
}

const moments = ["uploading", "uploaded", "serving"]

/** Runs a worker until it has gone through some rounds, and kills it at a moment of the next one. */
const runAndKill = async (
  input: RollbackInput,
  { rounds, moment }: { readonly rounds: number; readonly moment: string },
  numbers: Map<string, number>
): Promise<void> => {
  const child = fork(new URL("./rollback.worker.ts", import.meta.url), { execArgv: [...getNodeOptions()] })
  children.push(child)
  let finished = 0
  child.on("message", (message: Upload | string) => {
    if (typeof message === "object") numbers.set(message.id, message.number)
    if (message === "ready") child.send(input)
    else if (message === "round") finished++
    else if (finished >= rounds && (typeof message === "object" ? "uploading" : message) === moment) {
      child.kill("SIGKILL")
    }
  })
  await once(child, "exit")
}

describe("two processes that upload, roll back and promote, and are killed", () => {
  it.each(sharedStoreKinds)(
    "leave a deployment that serves a whole version, on %s",
    async (kind) => {
      const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
      const sitesFolder = join(folder, "sites")
      const numbers = new Map<string, number>()
      const work = async (worker: number) => {
        for (let kill = 0; kill < kills; kill++) {
          const when = { rounds: 1 + (kill % 4), moment: moments[(kill + worker) % moments.length] ?? "" }
          await runAndKill({ shared, folder: sitesFolder, seed: 10 * worker + kill }, when, numbers)
        }
      }
      await Promise.all([work(1), work(2)])

      const store = await openSharedStore(shared)
      const server = await startTestServer(store, { folder: sitesFolder })
      const { deployments } = server.gate.account("acme").project("p")
      const [{ name, url } = { name: "", url: "" }] = (await deployments.list()).data
      await eventually(async () => {
        const { data } = await deployments.versions(name)
        expect(data.filter(({ status }) => status === "IN_PROGRESS")).toEqual([])
      })
      const { data: versions } = await deployments.versions(name)
      const kept = versions.filter(({ isKept }) => isKept)
      const readFile = async (url: string, file: string) =>
        (await server.call("GET", `${new URL(url).pathname}${file}`, { token: null })).body
      const expectWhole = async (url: string, id: string) => {
        const number = numbers.get(id) ?? Number.NaN
        expect(await readFile(url, "")).toBe(`page ${number}`)
        for (const { name, content } of getSharedFiles(number)) expect(await readFile(url, name)).toBe(content)
      }
      const served = versions.find(({ isServed }) => isServed)
      await expectWhole(url, served?.id ?? "none is served")
      for (const version of kept) await expectWhole(version.url ?? "", version.id)
      expect(kept.length).toBeLessThanOrEqual(11)

      // Each can be served, and the events tell what is.
      for (const version of kept) {
        await deployments.promote(name, { version: version.id })
        await expectWhole(url, version.id)
      }
      await eventually(() => {
        const { releases, staging } = server.onDisk()
        expect(staging).toEqual([])
        expect(new Set(releases.map((id) => id.split(".")[1]))).toEqual(new Set(kept.map(({ id }) => id)))
      })
      console.log(
        `rollbacks, ${kind}: ${2 * kills} kills, ${numbers.size} uploads, ${kept.length} versions kept, each whole`
      )
      await server.close()
      await store.close()
    },
    420_000
  )
})
