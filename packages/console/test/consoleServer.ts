/**
 * An Express server with Tollgate on SQLite and the console, built from its sources, for the tests in a browser.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { join } from "node:path"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { tollgate } from "@tollgate/express"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { temporaryFolder } from "@tollgate/testing"
import express from "express"
import { buildConsole } from "../build/buildConsole.ts"

export const writeToken = "a-token-that-may-write-everything"
export const readToken = "a-token-that-may-only-read"
export const acmeToken = "a-token-for-the-account-acme-only"

export interface ConsoleServer {
  /** Where the console is. */
  readonly url: string
  readonly gate: Tollgate
  /** The status, method and path of every response, in order. */
  readonly responses: ReadonlyArray<string>
  readonly close: () => Promise<void>
}
