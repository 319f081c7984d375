/**
 * A real redis-server of a test's own, on a Unix socket or on a free port, gone with the scope.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, type Scope } from "effect"
import { ensureRedis, givenRedisUrl, redisBinary } from "./redisBinary.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

export interface RedisServer {
  /** A socket's path, or a redis:// address. */
  readonly url: string
  readonly folder: string
  /** Stops it as a power cut would, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
  /** Starts it again at the same address, with what it kept. */
  readonly restart: Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

export interface RedisServerOptions {
  /** Listens on a free TCP port instead of a socket. */
  readonly tcp?: boolean
  /** More of redis-server's own options, such as `["--maxmemory", "100mb"]`. */
  readonly arguments?: ReadonlyArray<string>
}

export const freePort: Effect.Effect<number> = Effect.promise(async () => {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return typeof address === "object" && address !== null ? address.port : 0
})

const launch = async (folder: string, options: ReadonlyArray<string>): Promise<ChildProcess> => {
  const child = spawn(redisBinary() ?? "redis-server", [...options, "--dir", folder], {
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
  throw new Error(`redis-server did not start:\n${log}`)
}

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, "exit")
  child.kill(signal)
  await gone
}

/** Starts a server that keeps what it was told for as long as the machine runs, unless its options say otherwise. */
export const startRedis = (options: RedisServerOptions = {}): Effect.Effect<RedisServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    ensureRedis()
    const folder = yield* temporaryFolder
    const given = givenRedisUrl()
    if (redisBinary() === undefined && given !== undefined) {
      const impossible = Effect.die(new Error("This test needs redis-server itself, to start and stop: install it"))
      if (options.tcp === true || options.arguments !== undefined) return yield* impossible
      return { url: given, folder, kill: impossible, restart: impossible, pause: impossible, resume: impossible }
    }
    const port = options.tcp === true ? yield* freePort : 0
    const socket = join(folder, "redis.sock")
    const listen =
      port === 0 ? ["--port", "0", "--unixsocket", socket] : ["--port", String(port), "--bind", "127.0.0.1"]
    const start = () =>
      launch(folder, [
        ...listen,
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "no",
        ...(options.arguments ?? [])
      ])
    let child = yield* Effect.promise(start)
    yield* Effect.addFinalizer(() => Effect.promise(() => end(child, "SIGKILL")))
    return {
      url: port === 0 ? socket : `redis://127.0.0.1:${port}`,
      folder,
      kill: Effect.promise(() => end(child, "SIGKILL")),
      restart: Effect.promise(async () => {
        await end(child, "SIGKILL")
        child = await start()
      }),
      pause: Effect.sync(() => void child.kill("SIGSTOP")),
      resume: Effect.sync(() => void child.kill("SIGCONT"))
    }
  })
