/**
 * Kills real processes and servers. Acknowledged writes are not lost, no write is partial, and the system recovers
 * without intervention.
 */
import { fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { Partition } from "@tollgate/store"
import { eventually, getNodeOptions, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { Cluster, Redis } from "ioredis"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { secret } from "./stores.ts"
import { checkConsumers, startWriteLoad } from "./writeLoad.ts"

let folder: string
let scope: Scope.Closeable
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-kills-"))
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
})

describe("a process that writes to SQLite", () => {
  it("loses no acknowledged write and has no partial write after twenty kills", async () => {
    const path = join(folder, "store.db")
    const acknowledged: Array<readonly [string, string]> = []
    for (let run = 0; run < 20; run++) {
      const child = fork(new URL("./writer.worker.ts", import.meta.url), {
        execArgv: [...getNodeOptions()]
      })
      const killAfter = 10 + run * 7
      let received = 0
      await new Promise<void>((resolve) => {
        child.on("message", (created: [string, string]) => {
          acknowledged.push(created)
          if (++received === killAfter) child.kill("SIGKILL")
        })
        child.once("exit", () => resolve())
        child.send({ path, secret, run })
      })
    }
    const store = await SqliteStore.open(path)
    const gate = await createTollgate({ store, secret })
    const { lost, partial, total } = await checkConsumers(gate, acknowledged)
    console.log(
      `SQLite: 20 kills, ${acknowledged.length} writes acknowledged, ${lost} lost, ${partial} partial, ${total} in the store`
    )
    expect({ lost, partial }).toEqual({ lost: 0, partial: 0 })
    expect(total).toBeGreaterThanOrEqual(acknowledged.length)
    await gate.close()
    await store.close()
  }, 180_000)
})

describe("redis-server", () => {
  it("killed five times under load: no acknowledged write is lost or counted twice, and the client reconnects", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const gate = await createTollgate({ store, secret })
    const load = await startWriteLoad(gate)
    for (let kill = 0; kill < 5; kill++) {
      await load.waitForWrites(150)
      await Effect.runPromise(server.restart)
    }
    await load.waitForWrites(50)
    console.log(`Redis: 5 kills, ${(await load.finish()).summary}`)
    await gate.close()
    await store.close()
  }, 120_000)

  it("down: calls fail with StoreUnavailable or 503, and succeed after a restart", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const tokens = [{ token: "a-management-token-of-this-test", account: "acme" }]
    const gate = await createTollgate({ store, secret, tokens })
    const keyBucket = gate.account("acme").keyBucket("b")
    await keyBucket.consumers.create({ name: "alice" })
    await Effect.runPromise(server.kill)
    const getConsumer = () =>
      gate.handler(
        new Request("http://gate/v1/accounts/acme/key-buckets/b/consumers/alice", {
          headers: { authorization: "Bearer a-management-token-of-this-test" }
        })
      )
    const response = await getConsumer()
    expect(response.status).toBe(503)
    expect(response.headers.get("retry-after")).toBe("1")
    expect((await gate.handler(new Request("http://gate/readyz"))).status).toBe(503)
    expect((await gate.handler(new Request("http://gate/healthz"))).status).toBe(200)
    await expect(keyBucket.verify("a-key-of-sixteen-characters")).rejects.toMatchObject({
      _tag: "StoreUnavailable"
    })
    await Effect.runPromise(server.restart)
    await eventually(async () => expect((await getConsumer()).status).toBe(200))
    await gate.close()
    await store.close()
  }, 30_000)

  it("loses its scripts under load: no call fails", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const gate = await createTollgate({ store, secret })
    const keyBucket = gate.account("acme").keyBucket("b")
    const client = new Redis(server.url)
    let isOver = false
    const flushScripts = (async () => {
      for (let flush = 0; flush < 200; flush++) await client.script("FLUSH")
      isOver = true
    })()
    let writes = 0
    const write = async (lane: number) => {
      for (let index = 0; !isOver; index++) {
        await keyBucket.consumers.create({ name: `c-${lane}-${index}` })
        writes++
      }
    }
    await Promise.all([flushScripts, ...Array.from({ length: 8 }, (_, lane) => write(lane))])
    console.log(`SCRIPT FLUSH: 200 times, ${writes} writes, none failed`)
    expect((await keyBucket.consumers.list({ limit: 1 })).total).toBe(writes)
    client.disconnect()
    await gate.close()
    await store.close()
  }, 60_000)

  it("killed as a cluster master: other partitions continue, and its own recover after the failover", async () => {
    const start = startRedisCluster({
      masters: 3,
      replicas: 2,
      arguments: ["--cluster-require-full-coverage", "no"]
    })
    const { nodes, servers } = await Effect.runPromise(Scope.provide(start, scope))
    const cluster = new Cluster([...nodes])
    const store = await RedisStore.open(cluster, { waitReplicas: { count: 1, timeout: 1_000 } })
    const gate = await createTollgate({ store, secret })
    const slots = 16_384
    const lanes = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const keyBucket = gate.account("acme").keyBucket(`b-${index}`)
        const partition = Partition.forKeyBucket("acme", keyBucket.bucketName)
        const slot = Number(await cluster.cluster("KEYSLOT", `{${partition}}`))
        return { keyBucket, isOnKilledMaster: slot < slots / 3, keys: [] as Array<string>, rejected: 0 }
      })
    )
    const affected = lanes.filter(({ isOnKilledMaster }) => isOnKilledMaster)
    const others = lanes.filter(({ isOnKilledMaster }) => !isOnKilledMaster)
    expect([affected.length > 0, others.length > 0]).toEqual([true, true])
    let isOver = false
    const write = async (lane: (typeof lanes)[number]) => {
      for (let index = 0; !isOver; index++) {
        await lane.keyBucket.consumers.create({ name: `c-${index}` }, { withApiKey: true }).then(
          ({ apiKeys }) => lane.keys.push(apiKeys[0].key ?? ""),
          (error) => {
            expect(error).toMatchObject({ _tag: "StoreUnavailable" })
            lane.rejected++
          }
        )
      }
    }
    const waitForWrites = async (lanes: typeof others, count: number) => {
      const targets = lanes.map(({ keys }) => keys.length + count)
      const isReached = () => lanes.every(({ keys }, index) => keys.length >= (targets[index] ?? 0))
      await vi.waitFor(() => expect(isReached()).toBe(true), {
        timeout: 30_000,
        interval: 10
      })
    }
    const load = lanes.map(write)
    await waitForWrites(lanes, 10)
    await Effect.runPromise(servers[0]?.kill ?? Effect.void)
    // Others may wait in the client until the failover is over.
    await vi.waitFor(() => expect(affected.some(({ rejected }) => rejected > 0)).toBe(true), {
      timeout: 30_000,
      interval: 10
    })
    const before = others.reduce((total, { keys }) => total + keys.length, 0)
    await waitForWrites(others, 10)
    await waitForWrites(affected, 10)
    const writesDuringFailover = others.reduce((total, { keys }) => total + keys.length, 0) - before
    isOver = true
    await Promise.all(load)
    let [acknowledged, lost] = [0, 0]
    for (const { keyBucket, keys } of lanes) {
      acknowledged += keys.length
      for (const key of keys) if (!(await keyBucket.verify(key)).valid) lost++
    }
    const rejected = {
      affected: affected.reduce((sum, lane) => sum + lane.rejected, 0),
      others: others.reduce((sum, lane) => sum + lane.rejected, 0)
    }
    console.log(
      `Redis Cluster: 1 of 3 masters killed, ${acknowledged} writes acknowledged, ${lost} lost; ${others.length} other partitions: ${writesDuringFailover} writes during the failover, ${rejected.others} rejected; ${affected.length} affected partitions: ${rejected.affected} rejected until the failover`
    )
    expect({ lost, rejected: rejected.others }).toEqual({ lost: 0, rejected: 0 })
    await gate.close()
    await store.close()
    cluster.disconnect()
  }, 120_000)
})
