/**
 * Starts a real PgBouncer in transaction mode in front of a PostgreSQL server: each statement may run on another
 * connection.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, type Scope } from "effect"
import { findServerPort, type PostgresServer } from "./PostgresServer.ts"
import { getServerUser, giveFolder } from "./postgresUser.ts"
import { findOnPath, installPackage } from "./programs.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

const findProgram = (): string => {
  if (findOnPath("pgbouncer") === undefined) installPackage("pgbouncer")
  const program = findOnPath("pgbouncer")
  if (program !== undefined) return program
  throw new Error(
    "This test needs PgBouncer: install it (Debian: sudo apt-get install pgbouncer; macOS: brew install pgbouncer)"
  )
}

/** Returns the URL of the proxy. Closing the scope stops it. */
export const startPgBouncer = (server: PostgresServer): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const program = findProgram()
    const folder = yield* temporaryFolder
    const port = yield* Effect.promise(findServerPort)
    const settings = join(folder, "pgbouncer.ini")
    writeFileSync(
      settings,
      `[databases]
postgres = host=127.0.0.1 port=${new URL(server.url).port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
server_reset_query_always = 1
`
    )
    const user = getServerUser()
    giveFolder(folder, user)
    const child = spawn(program, [settings], { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] })
    yield* Effect.addFinalizer(() =>
      Effect.promise(async () => {
        if (child.exitCode !== null) return
        const exited = once(child, "exit")
        child.kill("SIGKILL")
        await exited
      })
    )
    let log = ""
    const waitUntilReady = async () => {
      for await (const line of createInterface({ input: child.stderr })) {
        log += `${line}\n`
        if (line.includes("process up")) {
          child.stderr.resume()
          return
        }
      }
      throw new Error(`pgbouncer did not start:\n${log}`)
    }
    yield* Effect.promise(waitUntilReady)
    return `postgres://postgres@127.0.0.1:${port}/postgres`
  })
