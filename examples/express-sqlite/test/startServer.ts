/**
 * Runs the demo server as a process, as `npm start` does.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { promisify } from "node:util"
import { getNodeOptions } from "@tollgate/testing"

export const main = new URL("../src/main.ts", import.meta.url).pathname

export interface StartedServer {
  readonly child: ChildProcess
  readonly output: string
  /** What the server has written to the standard error. */
  readonly readLog: () => string
}

/** Starts the server as `npm start` does, and waits for the last line that it prints. */
export const startServer = async (
  environment: Record<string, string>,
  args: ReadonlyArray<string> = []
): Promise<StartedServer> => {
  const child = spawn(process.execPath, [...getNodeOptions(), main, ...args], {
    env: { PATH: process.env["PATH"], PORT: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let log = ""
  child.stderr.on("data", (chunk) => {
    log += chunk
    process.stderr.write(chunk)
  })
  let output = ""
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    if (/curl .*\/hello'\n/.test(output)) break
  }
  return { child, output, readLog: () => log }
}

export const stopServer = async ({ child }: StartedServer): Promise<unknown> => {
  const exited = once(child, "exit")
  child.kill("SIGTERM")
  const [code] = await exited
  return code
}

export const parseUrl = (output: string): string => /listening at (\S+)/.exec(output)?.[1] ?? ""

/** Runs a shell script that prints JSON. */
export const runShell = async (line: string) => JSON.parse((await promisify(execFile)("sh", ["-c", line])).stdout)
