/**
 * Starts a real PostgreSQL server for tests, on a free TCP port. Closing the scope stops it and removes its data.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, type Scope } from "effect"
import { Client, type QueryResultRow } from "pg"
import { ensurePostgres, type PostgresInstallation } from "./postgresBinary.ts"
import { createDataFolder } from "./postgresTemplate.ts"
import { getServerUser, giveFolder, makeReadable } from "./postgresUser.ts"
import { listChildren, signalAll, waitForExit } from "./processes.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

export interface PostgresServer {
  /** A postgres:// URL of the superuser, for the database "postgres". */
  readonly url: string
  /** Contains the folder "data" and the Unix socket. */
  readonly folder: string
  /** Kills the server and its back-ends with SIGKILL, and waits until all have exited. */
  readonly kill: Effect.Effect<void>
  /** Shuts the server down: it ends the connections and writes a checkpoint. */
  readonly stop: Effect.Effect<void>
  /** Starts the server again at the same URL with its data. Kills it first if it runs. */
  readonly restart: Effect.Effect<void>
  /** Suspends the server and its back-ends: connections stay open, and nothing answers. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Ends every connection, as an administrator would. */
  readonly terminateBackends: Effect.Effect<void>
  /** Kills one back-end with SIGKILL. The server then ends all others and recovers from its log. */
  readonly killBackend: Effect.Effect<void>
  /** Runs a statement on a connection that is opened for it. */
  readonly query: (sql: string, values?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<QueryResultRow>>
}

export interface PostgresServerOptions {
  /** Settings of postgresql.conf, such as `{ max_connections: "10" }`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** Uses the default settings of PostgreSQL, with which an acknowledged commit survives a crash of the machine. */
  readonly durable?: boolean | undefined
  /** The programs to use, instead of the newest ones. */
  readonly installation?: PostgresInstallation | undefined
  /** An existing folder for the data, instead of a temporary one. */
  readonly folder?: string | undefined
}

const fastSettings = {
  // Fast. A killed process loses nothing that it has written to files: only a crash of the machine could.
  fsync: "off",
  max_connections: "100",
  shared_buffers: "64MB",
  // Keeps shared memory in the data folder, so that a killed server leaves nothing behind.
  dynamic_shared_memory_type: "mmap"
}

/**
 * A port below those that the system assigns to clients: a client that reconnects to a stopped server on such a port may
 * be assigned the port itself, and connects to itself.
 */
export const findServerPort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(10_000, 30_000)
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
}

const launch = async (program: string, folder: string, settings: Readonly<Record<string, string>>) => {
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const child = spawn(program, ["-D", join(folder, "data"), ...options], {
    ...getServerUser(),
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"]
  })
  let log = ""
  for await (const line of createInterface({ input: child.stderr })) {
    log += `${line}\n`
    if (/ready to accept (read-only )?connections/.test(line)) {
      child.stderr.resume()
      return child
    }
  }
  throw new Error(`postgres did not start:\n${log}`)
}

const isRunning = (child: ChildProcess): child is ChildProcess & { pid: number } =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null

const listServerProcesses = (child: ChildProcess): ReadonlyArray<number> =>
  isRunning(child) ? [child.pid, ...listChildren(child.pid)] : []

const kill = async (child: ChildProcess): Promise<void> => {
  if (!isRunning(child)) return
  const exited = once(child, "exit")
  // A stopped server starts no further back-end that the list would miss.
  child.kill("SIGSTOP")
  const processes = listServerProcesses(child)
  signalAll(processes, "SIGKILL")
  await exited
  // A new server refuses to start while a back-end of the old one runs.
  await waitForExit(processes)
}

const shutDown = async (child: ChildProcess, signal: "SIGINT" | "SIGQUIT"): Promise<void> => {
  if (!isRunning(child)) return
  const exited = once(child, "exit")
  signalAll(listServerProcesses(child), "SIGCONT")
  child.kill(signal)
  await exited
}

const runQuery = async (url: string, sql: string, values: ReadonlyArray<unknown>) => {
  const client = new Client({ connectionString: url })
  // A connection that a test ends fails the query, and must not end the process.
  client.on("error", () => undefined)
  await client.connect()
  try {
    return (await client.query<QueryResultRow>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

const otherBackends = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"

export const startPostgres = (options: PostgresServerOptions = {}): Effect.Effect<PostgresServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const user = getServerUser()
    const installation = makeReadable(options.installation ?? ensurePostgres(), user)
    const folder = options.folder ?? (yield* temporaryFolder)
    giveFolder(folder, user)
    yield* Effect.promise(() => createDataFolder(installation, user, join(folder, "data")))
    const port = yield* Effect.promise(findServerPort)
    const start = () =>
      launch(join(installation.folder, "postgres"), folder, {
        ...(options.durable === true ? {} : fastSettings),
        listen_addresses: "127.0.0.1",
        port: String(port),
        unix_socket_directories: folder,
        ...options.settings
      })
    let child = yield* Effect.promise(start)
    yield* Effect.addFinalizer(() => Effect.promise(() => shutDown(child, "SIGQUIT")))
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const query: PostgresServer["query"] = (sql, values = []) => Effect.promise(() => runQuery(url, sql, values))
    return {
      url,
      folder,
      kill: Effect.promise(() => kill(child)),
      stop: Effect.promise(() => shutDown(child, "SIGINT")),
      restart: Effect.promise(async () => {
        await kill(child)
        child = await start()
      }),
      pause: Effect.sync(() => {
        child.kill("SIGSTOP")
        signalAll(listServerProcesses(child), "SIGSTOP")
      }),
      resume: Effect.sync(() => signalAll(listServerProcesses(child), "SIGCONT")),
      terminateBackends: Effect.asVoid(query(`SELECT pg_terminate_backend(pid) ${otherBackends}`)),
      killBackend: Effect.map(query(`SELECT pid ${otherBackends} ORDER BY random() LIMIT 1`), (rows) =>
        signalAll(
          rows.map(({ pid }) => Number(pid)),
          "SIGKILL"
        )
      ),
      query
    }
  })

/** Creates an empty database on the server at a URL, so that several stores can share the server. */
export const createDatabase = (serverUrl: string): Effect.Effect<Pick<PostgresServer, "url" | "query">> => {
  const name = `test_${randomBytes(8).toString("hex")}`
  const url = Object.assign(new URL(serverUrl), { pathname: name }).href
  return Effect.promise(async () => {
    await runQuery(serverUrl, `CREATE DATABASE ${name}`, [])
    return { url, query: (sql, values = []) => Effect.promise(() => runQuery(url, sql, values)) }
  })
}
