/**
 * `npm start`: starts the server, prints how to use it, and stops it on SIGTERM or SIGINT.
 */
import { mkdirSync } from "node:fs"
import { account, bucket } from "./demo.ts"
import { start } from "./server.ts"
import { parseSettings } from "./settings.ts"

/** The process exits after this time, even if requests are still running. */
const stopTimeoutMs = 9_000

const run = async (): Promise<void> => {
  const settings = parseSettings(process.env)
  mkdirSync(settings.dataFolder, { recursive: true })
  const { url, consoleUrl, newToken, demoKey, stop } = await start(settings)

  console.log(`Tollgate is listening at ${url}`)
  console.log(`API reference: ${url}/v1/docs`)
  console.log(`Console: ${consoleUrl} (works once, within 5 minutes)`)
  if (newToken !== undefined) {
    console.log(
      `\nYour management token, printed only once and saved in ${settings.dataFolder}/management-token:\n  ${newToken}`
    )
  } else if (settings.tokens === undefined) {
    console.log(`The management token is in ${settings.dataFolder}/management-token`)
  }
  const tokenExpression = settings.tokens === undefined ? `$(cat '${settings.dataFolder}/management-token')` : "$TOKEN"
  const bearer = (value: string | undefined, shellExpression: string) =>
    value === undefined ? `"Authorization: Bearer ${shellExpression}"` : `'Authorization: Bearer ${value}'`
  const consumers = `${url}/v1/accounts/${account}/key-buckets/${bucket}/consumers`
  console.log("\nTry it:")
  console.log(`  curl -s -H ${bearer(newToken, tokenExpression)} '${consumers}'`)
  console.log(`  curl -s -H ${bearer(newToken, tokenExpression)} '${consumers}?with-api-key=true' -d '{"name":"bob"}'`)
  console.log(`  curl -s -H ${bearer(demoKey, "$KEY")} '${url}/hello'`)

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
}

const fail = (error: unknown): never => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

run().catch(fail)
