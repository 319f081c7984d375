/**
 * Fills the real disk of a store. Writes are rejected, nothing acknowledged is lost, no write is partial, and the store
 * works again when space is freed.
 */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { PostgresStore } from "@tollgate/postgres"
import { SqliteStore } from "@tollgate/sqlite"
import type { ClosableStore, StoreOperations } from "@tollgate/store"
import { eventually, startPostgres } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { secret } from "./stores.ts"
import { checkConsumers } from "./writeLoad.ts"

let folder: string
let scope: Scope.Closeable
const disks: Array<string> = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-disk-"))
  // Accessible to the user that runs PostgreSQL.
  chmodSync(folder, 0o755)
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  for (const disk of disks.splice(0)) execFileSync("umount", [disk])
  rmSync(folder, { recursive: true, force: true })
})

/** Mounts a small disk for a test. Returns `undefined` if this user may not. */
const mountDisk = (megabytes: number): string | undefined => {
  const disk = join(folder, "disk")
  mkdirSync(disk)
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", disk], { stdio: "ignore" })
  } catch {
    console.log("Skipped a full-disk test: this user cannot mount a tmpfs")
    return undefined
  }
  disks.push(disk)
  return disk
}

/** Leaves this many bytes on a disk. Returns a function that frees the rest. */
const fillDisk = (disk: string, freeBytes: number): (() => void) => {
  const { bavail, bsize } = statfsSync(disk)
  const ballast = join(disk, "ballast")
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - freeBytes))
  return () => rmSync(ballast)
}

/** Creates consumers until this many creates have been rejected. */
const writeUntilFull = async (
  gate: Tollgate,
  rejections: number
): Promise<Array<readonly [name: string, key: string]>> => {
  const acknowledged: Array<readonly [string, string]> = []
  let rejected = 0
  for (let index = 0; rejected < rejections && index < 10_000; index++) {
    // Random, because PostgreSQL compresses long values.
    const input = { name: `c-${index}`, metadata: { padding: randomBytes(1_000).toString("hex") } }
    await gate
      .account("acme")
      .keyBucket("b")
      .consumers.create(input, { withApiKey: true })
      .then(
        ({ name, apiKeys }) => acknowledged.push([name, apiKeys[0].key ?? ""]),
        (error) => {
          expect(error).toMatchObject({ _tag: "StoreUnavailable" })
          rejected++
        }
      )
  }
  expect(rejected).toBe(rejections)
  return acknowledged
}

/** Fills the disk of a store with its own writes, and checks that it keeps reading and recovers. */
const checkFullDisk = async (name: string, store: ClosableStore<StoreOperations>, disk: string) => {
  const gate = await createTollgate({ store, secret })
  const freeSpace = fillDisk(disk, 1_000_000)
  const acknowledged = await writeUntilFull(gate, 20)
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(await checkConsumers(gate, acknowledged)).toEqual({ lost: 0, partial: 0, total: acknowledged.length })
  freeSpace()
  const recovered = await gate.account("acme").keyBucket("b").consumers.create({ name: "new" }, { withApiKey: true })
  acknowledged.push([recovered.name, recovered.apiKeys[0].key ?? ""])
  const state = await checkConsumers(gate, acknowledged)
  console.log(`${name}: ${acknowledged.length} writes acknowledged, 20 rejected, ${state.lost} lost`)
  expect(state).toEqual({ lost: 0, partial: 0, total: acknowledged.length })
  await gate.close()
  await store.close()
}

it("SQLite rejects writes, keeps reading, loses nothing, and recovers when space is freed", async () => {
  const disk = mountDisk(3)
  if (disk === undefined) return
  await checkFullDisk("SQLite on a full disk", await SqliteStore.open(join(disk, "store.db")), disk)
}, 60_000)

it("PostgreSQL with its tables on the disk rejects writes, keeps reading, loses nothing, and recovers", async () => {
  const server = await Effect.runPromise(Scope.provide(startPostgres(), scope))
  const disk = mountDisk(32)
  if (disk === undefined) return
  const { uid, gid } = statSync(server.folder)
  const tablespace = join(disk, "tables")
  mkdirSync(tablespace)
  chownSync(tablespace, uid, gid)
  await Effect.runPromise(server.query(`CREATE TABLESPACE small LOCATION '${tablespace}'`))
  await Effect.runPromise(server.query("CREATE DATABASE small TABLESPACE small"))
  const store = await PostgresStore.open(new URL("/small", server.url).href)
  await checkFullDisk("PostgreSQL, tables on a full disk", store, disk)
}, 60_000)

it("PostgreSQL with its log on the disk stops, loses nothing, and recovers when space is freed and it starts", async () => {
  const server = await Effect.runPromise(Scope.provide(startPostgres(), scope))
  const disk = mountDisk(40)
  if (disk === undefined) return
  await Effect.runPromise(server.stop)
  const log = join(server.folder, "data/pg_wal")
  execFileSync("cp", ["-a", log, disk])
  rmSync(log, { recursive: true })
  symlinkSync(join(disk, "pg_wal"), log)
  await Effect.runPromise(server.restart)
  const store = await PostgresStore.open(server.url)
  const gate = await createTollgate({ store, secret })
  const freeSpace = fillDisk(disk, 1_000_000)
  const acknowledged = await writeUntilFull(gate, 5)
  freeSpace()
  await Effect.runPromise(server.restart)
  const keyBucket = gate.account("acme").keyBucket("b")
  const recovered = await eventually(() => keyBucket.consumers.create({ name: "new" }, { withApiKey: true }))
  acknowledged.push([recovered.name, recovered.apiKeys[0].key ?? ""])
  const { lost, partial, total } = await checkConsumers(gate, acknowledged)
  console.log(`PostgreSQL, log on a full disk: ${acknowledged.length} writes acknowledged, ${lost} lost`)
  expect({ lost, partial }).toEqual({ lost: 0, partial: 0 })
  // A commit with an unknown outcome may have been applied.
  expect(total).toBeGreaterThanOrEqual(acknowledged.length)
  await gate.close()
  await store.close()
}, 120_000)
