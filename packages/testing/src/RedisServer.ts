/**
 * Starts a real redis-server for one test, on a Unix socket or a free TCP port. Closing the scope stops it.
 */

import { type ChildProcess, spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, type Scope } from "effect"
import { ensureRedis, externalRedisUrl, redisBinary } from "./redisBinary.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

export interface RedisServer {
  /** The path of a Unix socket, or a redis:// URL. */
  readonly url: string
  readonly folder: string
  /** Kills the server with SIGKILL and waits until it has exited. */
  readonly kill: Effect.Effect<void>
  /** Restarts the server at the same URL with its persisted data. */
  readonly restart: Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

export interface RedisServerOptions {
  /** Listens on a free TCP port instead of a Unix socket. */
  readonly tcp?: boolean
  /** Additional command-line options of redis-server, such as `["--maxmemory", "100mb"]`. */
  readonly arguments?: ReadonlyArray<string>
  /** An existing folder for the data, instead of a temporary one. */
  readonly folder?: string
  /** The path of another server that speaks its protocol, such as Valkey. */
  readonly program?: string
}

/** A port that nobody listens on, below those that the system gives to connections, so that none of them takes it. */
export const findFreePort: Effect.Effect<number> = Effect.promise(async () => {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    const probe = createServer().listen(port, "127.0.0.1")
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false
    )
    if (!isFree) continue
    probe.close()
    await once(probe, "close")
    return port
  }
})

const launch = async (program: string, folder: string, options: ReadonlyArray<string>): Promise<ChildProcess> => {
  const child = spawn(program, [...options, "--dir", folder], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const lines = createInterface({ input: child.stdout })
  let log = ""
  for await (const line of lines) {
    log += `${line}\n`
    if (/ready to accept connections/i.test(line)) {
      child.stdout.resume()
      return child
    }
  }
  throw new Error(`${program} did not start:\n${log}`)
}

const stop = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill(signal)
  await exited
}

/** Starts a server with an append-only file that is not flushed: data survives a kill, but not a power loss. */
export const startRedis = (options: RedisServerOptions = {}): Effect.Effect<RedisServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (options.program === undefined) ensureRedis()
    const folder = options.folder ?? (yield* temporaryFolder)
    const program = options.program ?? redisBinary()
    const externalUrl = externalRedisUrl()
    if (program === undefined && externalUrl !== undefined) {
      const unsupported = Effect.die(new Error("This test starts and stops redis-server: install it"))
      if (options.tcp === true || options.arguments !== undefined || options.folder !== undefined)
        return yield* unsupported
      return {
        url: externalUrl,
        folder,
        kill: unsupported,
        restart: unsupported,
        pause: unsupported,
        resume: unsupported
      }
    }
    const port = options.tcp === true ? yield* findFreePort : 0
    const socket = join(folder, "redis.sock")
    const listenOptions =
      port === 0 ? ["--port", "0", "--unixsocket", socket] : ["--port", String(port), "--bind", "127.0.0.1"]
    const start = () =>
      launch(program ?? "redis-server", folder, [
        ...listenOptions,
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "no",
        ...(options.arguments ?? [])
      ])
    let child = yield* Effect.promise(start)
    yield* Effect.addFinalizer(() => Effect.promise(() => stop(child, "SIGKILL")))
    return {
      url: port === 0 ? socket : `redis://127.0.0.1:${port}`,
      folder,
      kill: Effect.promise(() => stop(child, "SIGKILL")),
      restart: Effect.promise(async () => {
        await stop(child, "SIGKILL")
        child = await start()
      }),
      pause: Effect.sync(() => void child.kill("SIGSTOP")),
      resume: Effect.sync(() => void child.kill("SIGCONT"))
    }
  })
