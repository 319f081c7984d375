/**
 * An Express server with Tollgate on SQLite and the console, built from its sources, for the tests in a browser.
 */

import { once } from "node:events"
import { createServer } from "node:http"
import { join } from "node:path"
import type { ConsoleModule } from "@tollgate/console"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { type DecisionsModule, decisions } from "@tollgate/decisions"
import { type DeploymentsModule, deployments } from "@tollgate/deployments"
import { tollgate } from "@tollgate/express"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { temporaryFolder } from "@tollgate/testing"
import { type WebhooksModule, webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Scope } from "effect"
import express from "express"
import { toAppFiles } from "../../ui/build/buildApp.ts"
import { buildConsole } from "../build/buildConsole.ts"
import type { Console } from "../src/Console.ts"
import type { ConsoleOptions } from "../src/ConsoleSettings.ts"
import { consoleModule } from "../src/consoleModule.ts"

export const writeToken = "a-token-that-may-write-everything"
export const readToken = "a-token-that-may-only-read"
export const acmeToken = "a-token-for-the-account-acme-only"

let builtConsole: Promise<Console> | undefined

/** The console of the current sources, built once per test file. */
export const loadConsole = (): Promise<Console> => {
  builtConsole ??= buildConsole().then((built) => ({ files: toAppFiles(built) }))
  return builtConsole
}

/** A Tollgate with all modules. */
export type ConsoleGate = Tollgate<ConsoleModule | DecisionsModule | DeploymentsModule | WebhooksModule>

export interface ConsoleServer {
  /** The origin of the server; the console is at `/console/`. */
  readonly origin: string
  readonly gate: ConsoleGate
  /** The status, method and URL of every response, in order. */
  readonly responses: ReadonlyArray<string>
  /** Stops accepting connections, as a server that was shut down; `resume` starts it again on the same port. */
  readonly pause: () => Promise<void>
  readonly resume: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface ConsoleServerOptions extends Partial<Omit<TollgateOptions, "modules">> {
  /** The command that builds sites. Default: none. */
  readonly buildCommand?: string
  /** Whether there are a log of decisions, deployments and webhooks. Default: true. */
  readonly hasModules?: boolean
  /** The files to serve, if not those of the current sources. */
  readonly console?: Console
  /** What the host says about its console. */
  readonly settings?: ConsoleOptions
}

/** Starts a server with one token that may write, one that may read, and one for the account acme. */
export const startConsoleServer = async ({
  buildCommand,
  hasModules = true,
  console: files,
  settings = {},
  ...options
}: ConsoleServerOptions = {}): Promise<ConsoleServer> => {
  const scope = Scope.makeUnsafe()
  const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
  const store = await SqliteStore.open(join(folder, "tollgate.db"))
  const responses: Array<string> = []
  const app = express()
  app.use((req, res, next) => {
    res.once("finish", () => responses.push(`${res.statusCode} ${req.method} ${req.originalUrl}`))
    next()
  })
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const origin = `http://127.0.0.1:${port}`
  const build = buildCommand === undefined ? {} : { build: { command: buildCommand } }
  const gate = await createTollgate({
    store,
    secret: "test-secret-with-at-least-32-characters",
    tokens: [
      { token: writeToken, account: "*" },
      { token: readToken, account: "*", access: "read" },
      { token: acmeToken, account: "acme" }
    ],
    publicUrl: origin,
    modules: [
      consoleModule(files ?? (await loadConsole()), settings),
      ...(hasModules
        ? [
            decisions(),
            deployments(sites({ folder: join(folder, "sites"), ...build })),
            webhooks({ allowPrivateNetworks: true })
          ]
        : [])
    ],
    ...options
  })
  app.use(tollgate(gate))
  const pause = async (): Promise<void> => {
    const closed = once(server, "close")
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    origin,
    gate,
    responses,
    pause,
    resume: async () => {
      server.listen(port, "127.0.0.1")
      await once(server, "listening")
    },
    close: async () => {
      if (server.listening) await pause()
      await gate.close()
      await store.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}
