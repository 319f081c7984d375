/**
 * Starts the examples as their READMEs say, and calls them with the command that they print.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "@effect/vitest"

const root = join(import.meta.dirname, "../../..")

it.each(["fastify", "hono"])("examples/%s starts as its README says, and its command works", async (name) => {
  const readme = readFileSync(join(root, "examples", name, "README.md"), "utf8")
  const [, command = ""] = /^npm start (.*)$/m.exec(readme) ?? []
  const child = spawn("npm", ["start", ...command.split(" ")], {
    cwd: root,
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const exited = once(child, "exit")
  let output = ""
  for await (const chunk of child.stdout) {
    output += chunk
    if (/curl .*\n/.test(output)) break
  }
  const [call = ""] = /curl .*/.exec(output) ?? []
  const { stdout } = await promisify(execFile)("sh", ["-c", call])
  expect(JSON.parse(stdout)).toEqual({ hello: "alice", remaining: 4 })
  child.kill("SIGTERM")
  await exited
})
