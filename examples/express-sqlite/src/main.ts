/**
 * `npm start`: the server, what to know of it, and how it ends.
 */
import { mkdirSync } from "node:fs"
import { account, bucket } from "./demo.ts"
import { start } from "./server.ts"
import { parseSettings } from "./settings.ts"

/** How long requests that run may take to end, once the server is asked to. */
const stopTimeoutMs = 9_000

const run = async (): Promise<void> => {
  const settings = parseSettings(process.env)
  mkdirSync(settings.dataFolder, { recursive: true })
  const { url, newToken, demoKey, stop } = await start(settings)

  console.log(`Tollgate is at ${url}`)
  console.log(`Read and try the interface at ${url}/v1/docs`)
  if (newToken !== undefined) {
    console.log(
      `\nYour management token, shown this once and kept in ${settings.dataFolder}/management-token:\n  ${newToken}`
    )
  } else if (settings.tokens === undefined) {
    console.log(`The management token is in ${settings.dataFolder}/management-token`)
  }
  const secret = settings.tokens === undefined ? `$(cat '${settings.dataFolder}/management-token')` : "$TOKEN"
  const bearer = (value: string | undefined, otherwise: string) =>
    value === undefined ? `"Authorization: Bearer ${otherwise}"` : `'Authorization: Bearer ${value}'`
  const consumers = `${url}/v1/accounts/${account}/key-buckets/${bucket}/consumers`
  console.log("\nTry it:")
  console.log(`  curl -s -H ${bearer(newToken, secret)} '${consumers}'`)
  console.log(`  curl -s -H ${bearer(newToken, secret)} '${consumers}?with-api-key=true' -d '{"name":"bob"}'`)
  console.log(`  curl -s -H ${bearer(demoKey, "$KEY")} '${url}/hello'`)

  let stopping = false
  const end = () => {
    if (stopping) process.exit(1)
    stopping = true
    setTimeout(() => process.exit(0), stopTimeoutMs).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error)
    )
  }
  process.on("SIGTERM", end)
  process.on("SIGINT", end)
}

const fail = (error: unknown): never => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

run().catch(fail)
