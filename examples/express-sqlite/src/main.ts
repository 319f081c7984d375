/**
 * `npm start`: starts the server, prints how to use it, and stops it on SIGTERM or SIGINT.
 */
import { mkdirSync } from "node:fs"
import { describeServer } from "./describeServer.ts"
import { start } from "./server.ts"
import { parseSettings } from "./settings.ts"

/** The process exits after this time, even if requests are still running. */
const stopTimeoutMs = 9_000

const run = async (): Promise<void> => {
  const settings = parseSettings(process.env, process.argv.slice(2))
  mkdirSync(settings.dataFolder, { recursive: true })
  const { stop, ...started } = await start(settings)
  let isStopping = false
  const handleSignal = () => {
    // A second signal exits immediately.
    if (isStopping) process.exit(1)
    isStopping = true
    setTimeout(() => process.exit(0), stopTimeoutMs).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error)
    )
  }
  process.on("SIGTERM", handleSignal)
  process.on("SIGINT", handleSignal)
  // Printed last: a program that waits for this output may then stop the server.
  console.log(describeServer(started, settings))
}

const fail = (error: unknown): never => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

run().catch(fail)
