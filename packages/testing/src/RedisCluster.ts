/**
 * Starts a real Redis Cluster for one test. The masters share the slots; each has the given number of replicas.
 */
import { setTimeout as delay } from "node:timers/promises"
import { Effect, type Scope } from "effect"
import { Redis } from "ioredis"
import { findFreePort, type RedisServer, startRedis } from "./RedisServer.ts"

export interface RedisCluster {
  readonly nodes: ReadonlyArray<{ readonly host: string; readonly port: number }>
  readonly servers: ReadonlyArray<RedisServer>
}

const slots = 16_384
const startTimeoutMs = 30_000

/** Polls a condition, because a cluster sends no notification when it is ready. */
const waitUntil = async (isReady: () => Promise<boolean>, state: string): Promise<void> => {
  const deadline = performance.now() + startTimeoutMs
  while (!(await isReady())) {
    if (performance.now() > deadline)
      throw new Error(`The Redis Cluster was not ${state} after ${startTimeoutMs / 1000} s`)
    await delay(20)
  }
}

const createCluster = async (
  ports: ReadonlyArray<number>,
  busPorts: ReadonlyArray<number>,
  masters: number
): Promise<void> => {
  const clients = ports.map((port) => new Redis({ host: "127.0.0.1", port }))
  try {
    const doAllNodesReport = async (pattern: RegExp) =>
      (await Promise.all(clients.map((client) => client.cluster("INFO")))).every((info) => pattern.test(String(info)))
    for (const [index, client] of clients.entries()) {
      await client.call("CLUSTER", ["SET-CONFIG-EPOCH", index + 1])
      if (index < masters) {
        const first = Math.ceil((index * slots) / masters)
        const last = Math.ceil(((index + 1) * slots) / masters) - 1
        await client.call("CLUSTER", ["ADDSLOTSRANGE", first, last])
      }
      if (index > 0) await client.call("CLUSTER", ["MEET", "127.0.0.1", ports[0] ?? 0, busPorts[0] ?? 0])
    }
    await waitUntil(() => doAllNodesReport(new RegExp(`cluster_known_nodes:${ports.length}\\b`)), "connected")
    const ids = await Promise.all(clients.map((client) => client.call("CLUSTER", ["MYID"])))
    for (const [index, client] of clients.entries()) {
      if (index >= masters) await client.call("CLUSTER", ["REPLICATE", String(ids[index % masters])])
    }
    await waitUntil(() => doAllNodesReport(/cluster_state:ok/), "complete")
    for (const client of clients.slice(masters)) {
      await waitUntil(async () => /master_link_status:up/.test(await client.info("replication")), "replicated")
    }
  } finally {
    for (const client of clients) client.disconnect()
  }
}

export const startRedisCluster = (
  options: {
    readonly masters?: number
    readonly replicas?: number
    readonly arguments?: ReadonlyArray<string>
    readonly program?: string
  } = {}
): Effect.Effect<RedisCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const masters = options.masters ?? 3
    const replicas = options.replicas ?? 0
    const count = masters * (1 + replicas)
    // With replicas, a short timeout makes failover fast. Without them, it would let one slow master stop the cluster.
    const nodeTimeoutMs = replicas > 0 ? 1_000 : 15_000
    const busPorts: Array<number> = []
    const servers: Array<RedisServer> = []
    for (let index = 0; index < count; index++) {
      const busPort = yield* findFreePort
      busPorts.push(busPort)
      servers.push(
        yield* startRedis({
          tcp: true,
          ...(options.program === undefined ? {} : { program: options.program }),
          arguments: [
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            String(nodeTimeoutMs),
            "--cluster-port",
            String(busPort),
            ...(options.arguments ?? [])
          ]
        })
      )
    }
    const ports = servers.map(({ url }) => Number(new URL(url).port))
    yield* Effect.promise(() => createCluster(ports, busPorts, masters))
    return { nodes: ports.map((port) => ({ host: "127.0.0.1", port })), servers }
  })
