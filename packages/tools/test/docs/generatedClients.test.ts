/**
 * Clients that openapi-typescript, @hey-api/openapi-ts and orval make of the OpenAPI document compile, and can be used. The
 * generators are large, so they are installed for this test only.
 */
import { execFile } from "node:child_process"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { it } from "vitest"
import { openGate } from "../../src/docs/allModules.ts"

const folder = fileURLToPath(new URL("../../../../test-external/", import.meta.url))
const input = "./generated/openapi.json"

/** Runs a program. Rejects with what it printed if it fails. */
const run = (command: string, ...args: ReadonlyArray<string>) =>
  promisify(execFile)(command, args, { cwd: folder, maxBuffer: 10_000_000 }).catch(({ stdout, stderr }) => {
    throw new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`)
  })

const runInstalled = (name: string, ...args: ReadonlyArray<string>) =>
  run(process.execPath, `node_modules/.bin/${name}`, ...args)

it("has no type error in the clients of three generators", async () => {
  const gate = await openGate()
  const document = await (await gate.handler(new Request("http://gate/v1/openapi.json"))).text()
  await gate.close()
  await rm(`${folder}generated`, { recursive: true, force: true })
  await mkdir(`${folder}generated`)
  await writeFile(`${folder}${input}`, document)
  await run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
  await runInstalled("openapi-typescript", input, "--output", "generated/types.ts")
  await runInstalled("openapi-ts", "--input", input, "--output", "generated/hey")
  await runInstalled("orval", "--input", input, "--output", "generated/orval.ts", "--client", "fetch")
  await runInstalled("tsc", "--project", ".")
}, 600_000)
