/**
 * Real kills, real servers, a real full disk: what was answered is there, nothing is torn, and all goes on by itself.
 */
import { execFileSync, fork } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate, Partition, type Tollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { makeSubscription, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { Cluster, Redis } from "ioredis"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { secret } from "./stores.ts"

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

type Acknowledged = ReadonlyArray<readonly [name: string, key: string]>

/** Everything that was answered is there, whole; and whatever else is there is whole too. */
const check = async (gate: Tollgate, acknowledged: Acknowledged) => {
  let [lost, torn] = [0, 0]
  for (const [name, key] of acknowledged) {
    const answer = await gate.keys.verify("acme", "b", key)
    if (!answer.valid || answer.consumer.name !== name) lost++
  }
  for (let offset = 0; ; offset += 1000) {
    const { data, total } = await gate.consumers.list("acme", "b", { offset, apiKeys: true, keyFormat: "visible" })
    for (const { apiKeys } of data) if (apiKeys?.length !== 1) torn++
    if (offset + data.length >= total) return { lost, torn, total }
  }
}

describe("a process that writes to SQLite", () => {
  it("may be killed at any moment, twenty times: what was answered is there, nothing is torn", async () => {
    const path = join(folder, "store.db")
    const acknowledged: Array<readonly [string, string]> = []
    for (let run = 0; run < 20; run++) {
      const child = fork(new URL("./writer.worker.ts", import.meta.url), { execArgv: ["--conditions=source"] })
      const enough = 10 + run * 7
      let answered = 0
      await new Promise<void>((resolve) => {
        child.on("message", (made: [string, string]) => {
          acknowledged.push(made)
          if (++answered === enough) child.kill("SIGKILL")
        })
        child.once("exit", () => resolve())
        child.send({ path, secret, run })
      })
    }
    const store = await SqliteStore.open(path)
    const gate = await createTollgate({ store, secret })
    const { lost, torn, total } = await check(gate, acknowledged)
    console.log(
      `SQLite: 20 kills, ${acknowledged.length} writes acknowledged, ${lost} lost, ${torn} torn, ${total} there`
    )
    expect({ lost, torn }).toEqual({ lost: 0, torn: 0 })
    expect(total).toBeGreaterThanOrEqual(acknowledged.length)
    await gate.close()
    await store.close()
  }, 180_000)

  it("on a disk that is full fails, reads on, loses nothing, and writes again when there is room", async () => {
    const disk = join(folder, "disk")
    mkdirSync(disk)
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], { stdio: "ignore" })
    } catch {
      console.log("A full disk was not tried: this user may not mount a small one")
      return
    }
    try {
      const store = await SqliteStore.open(join(disk, "store.db"))
      const gate = await createTollgate({ store, secret })
      writeFileSync(join(disk, "ballast"), Buffer.alloc(500_000))
      const acknowledged: Array<readonly [string, string]> = []
      let refused = 0
      for (let index = 0; refused < 20 && index < 5000; index++) {
        const input = { name: `c-${index}`, metadata: { padding: "x".repeat(2000) } }
        await gate.consumers.create("acme", "b", input, { withApiKey: true }).then(
          ({ name, apiKeys }) => acknowledged.push([name, apiKeys?.[0]?.key ?? ""]),
          (error) => {
            expect(error).toMatchObject({ _tag: "StoreUnavailable" })
            refused++
          }
        )
      }
      expect(refused).toBe(20)
      expect(await check(gate, acknowledged)).toEqual({ lost: 0, torn: 0, total: acknowledged.length })
      rmSync(join(disk, "ballast"))
      const again = await gate.consumers.create("acme", "b", { name: "again" }, { withApiKey: true })
      acknowledged.push([again.name, again.apiKeys?.[0]?.key ?? ""])
      const found = await check(gate, acknowledged)
      console.log(`Full disk: ${acknowledged.length} writes acknowledged, ${refused} refused, ${found.lost} lost`)
      expect(found).toEqual({ lost: 0, torn: 0, total: acknowledged.length })
      await gate.close()
      await store.close()
    } finally {
      execFileSync("umount", [disk])
    }
  }, 60_000)
})

describe("redis-server", () => {
  it("may be killed five times under load: what was answered is there, once, and the client recovers by itself", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const gate = await createTollgate({ store, secret })
    const { id: bucketId } = await gate.meteringBuckets.create("acme")
    const plan = await gate.plans.create(bucketId, {
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 1e9 } }
    })
    const { id } = await gate.subscriptions.create(
      bucketId,
      makeSubscription(plan.id, "p", { renewalStrategy: "yearly" as const, customerKey: "c" })
    )
    const acknowledged: Array<readonly [string, string]> = []
    let [consumed, unknown, isOver] = [0, 0, false]
    const create = async (lane: number) => {
      for (let index = 0; !isOver; index++) {
        const made = await gate.consumers
          .create("acme", "b", { name: `c-${lane}-${index}` }, { withApiKey: true })
          .catch(() => undefined)
        if (made !== undefined) acknowledged.push([made.name, made.apiKeys?.[0]?.key ?? ""])
      }
    }
    const consume = async () => {
      while (!isOver) {
        await gate.usage.consume(bucketId, id, { requests: 1 }).then(
          () => consumed++,
          (error) => {
            if (error.outcome === "unknown") unknown++
          }
        )
      }
    }
    const load = [...Array.from({ length: 4 }, (_, lane) => create(lane)), ...Array.from({ length: 4 }, consume)]
    for (let kill = 0; kill < 5; kill++) {
      const enough = acknowledged.length + 150
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(enough), { timeout: 20_000, interval: 10 })
      await Effect.runPromise(server.restart)
    }
    const after = acknowledged.length + 50
    await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(after), { timeout: 20_000, interval: 10 })
    isOver = true
    await Promise.all(load)
    const { lost, torn } = await check(gate, acknowledged)
    const used = (await gate.usage.quotas(bucketId, id)).meters["requests"]?.used ?? 0
    console.log(
      `Redis: 5 kills, ${acknowledged.length + consumed} writes acknowledged, ${lost} lost, ${torn} torn, ${used} counted of ${consumed} (${unknown} untold)`
    )
    expect({ lost, torn }).toEqual({ lost: 0, torn: 0 })
    expect(used).toBeGreaterThanOrEqual(consumed)
    expect(used).toBeLessThanOrEqual(consumed + unknown)
    await gate.close()
    await store.close()
  }, 120_000)

  it("may be down: calls fail within about a second, 503 over HTTP, and work when it is back", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const tokens = [{ token: "a-token-of-this-test", account: "acme" }]
    const gate = await createTollgate({ store, secret, tokens })
    await gate.consumers.create("acme", "b", { name: "alice" })
    await Effect.runPromise(server.kill)
    const ask = () =>
      gate.handler(
        new Request("http://gate/v1/accounts/acme/key-buckets/b/consumers/alice", {
          headers: { authorization: "Bearer a-token-of-this-test" }
        })
      )
    const response = await ask()
    expect(response.status).toBe(503)
    expect(response.headers.get("retry-after")).toBe("1")
    expect((await gate.handler(new Request("http://gate/readyz"))).status).toBe(503)
    expect((await gate.handler(new Request("http://gate/healthz"))).status).toBe(200)
    await expect(gate.keys.verify("acme", "b", "a-key-of-sixteen-characters")).rejects.toMatchObject({
      _tag: "StoreUnavailable"
    })
    await Effect.runPromise(server.restart)
    await vi.waitFor(async () => expect((await ask()).status).toBe(200), { timeout: 10_000 })
    await gate.close()
    await store.close()
  }, 30_000)

  it("may forget its scripts under load: nobody notices", async () => {
    const server = await Effect.runPromise(Scope.provide(startRedis(), scope))
    const store = await RedisStore.open(server.url)
    const gate = await createTollgate({ store, secret })
    const client = new Redis(server.url)
    let isOver = false
    const flushing = (async () => {
      for (let flush = 0; flush < 200; flush++) await client.script("FLUSH")
      isOver = true
    })()
    let made = 0
    const write = async (lane: number) => {
      for (let index = 0; !isOver; index++) {
        await gate.consumers.create("acme", "b", { name: `c-${lane}-${index}` })
        made++
      }
    }
    await Promise.all([flushing, ...Array.from({ length: 8 }, (_, lane) => write(lane))])
    console.log(`SCRIPT FLUSH: 200 times, ${made} writes, none failed`)
    expect((await gate.consumers.list("acme", "b", { limit: 1 })).total).toBe(made)
    client.disconnect()
    await gate.close()
    await store.close()
  }, 60_000)

  it("that is a master of a cluster may be killed: the other partitions go on, and its own after the failover", async () => {
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
        const bucket = `b-${index}`
        const slot = Number(await cluster.cluster("KEYSLOT", `{${Partition.keys("acme", bucket)}}`))
        return { bucket, isHit: slot < slots / 3, keys: [] as Array<string>, refused: 0 }
      })
    )
    const [hit, others] = [lanes.filter(({ isHit }) => isHit), lanes.filter(({ isHit }) => !isHit)]
    expect([hit.length > 0, others.length > 0]).toEqual([true, true])
    let isOver = false
    const write = async (lane: (typeof lanes)[number]) => {
      for (let index = 0; !isOver; index++) {
        await gate.consumers.create("acme", lane.bucket, { name: `c-${index}` }, { withApiKey: true }).then(
          ({ apiKeys }) => lane.keys.push(apiKeys?.[0]?.key ?? ""),
          (error) => {
            expect(error).toMatchObject({ _tag: "StoreUnavailable" })
            lane.refused++
          }
        )
      }
    }
    const grown = async (some: typeof lanes, by: number) => {
      const enough = some.map(({ keys }) => keys.length + by)
      const counts = () => some.map(({ keys }) => keys.length)
      await vi.waitFor(() => expect(counts().every((count, index) => count >= (enough[index] ?? 0))).toBe(true), {
        timeout: 30_000,
        interval: 10
      })
    }
    const load = lanes.map(write)
    await grown(lanes, 10)
    await Effect.runPromise(servers[0]?.kill ?? Effect.void)
    await vi.waitFor(() => expect(hit.every(({ refused }) => refused > 0)).toBe(true), {
      timeout: 10_000,
      interval: 10
    })
    const before = others.reduce((total, { keys }) => total + keys.length, 0)
    await grown(others, 10)
    await grown(hit, 10)
    const meanwhile = others.reduce((total, { keys }) => total + keys.length, 0) - before
    isOver = true
    await Promise.all(load)
    let [acknowledged, lost] = [0, 0]
    for (const { bucket, keys } of lanes) {
      acknowledged += keys.length
      for (const key of keys) if (!(await gate.keys.verify("acme", bucket, key)).valid) lost++
    }
    const refused = {
      own: hit.reduce((sum, lane) => sum + lane.refused, 0),
      others: others.reduce((sum, lane) => sum + lane.refused, 0)
    }
    console.log(
      `Redis Cluster: 1 master of 3 killed, ${acknowledged} writes acknowledged, ${lost} lost; in ${others.length} other partitions ${meanwhile} until the failover was over, ${refused.others} refused; in its own ${hit.length} ${refused.own} refused, then on`
    )
    expect({ lost, refused: refused.others }).toEqual({ lost: 0, refused: 0 })
    await gate.close()
    await store.close()
    cluster.disconnect()
  }, 120_000)
})
