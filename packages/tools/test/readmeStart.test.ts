/**
 * Follows README.md after its installation: writes the app, makes the secret and the token, starts it, and calls the
 * protected route with a key.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { findFreePort, getNodeOptions } from "@tollgate/testing"
import { Effect } from "effect"
import { expect, it, onTestFinished } from "vitest"
import { readInstallLines, readSnippets } from "../src/readme.ts"

const root = join(import.meta.dirname, "../../..")
const readme = join(root, "README.md")

it("README.md leads to a server that runs, and to a key", async () => {
  const folder = mkdtempSync(join(root, ".readme-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const port = String(await Effect.runPromise(findFreePort))
  const text = readFileSync(readme, "utf8").replaceAll("3000", port)
  // npm 11 writes a package.json for CommonJS, in which the snippet does not run.
  expect(readInstallLines(readme)).toContain("cd ../my-app && npm init -y && npm pkg set type=module")
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  const [, environment = "", options = ""] = /^```sh\n(.* > \.env)\nnode (.*)$/m.exec(text) ?? []
  const [, call = ""] = /^```sh\n(\. \.\/\.env\n.*?)^```$/ms.exec(text) ?? []
  const run = (script: string) => execFileSync("sh", ["-ec", script], { cwd: folder, encoding: "utf8" })
  run(environment)
  writeFileSync(join(folder, "app.ts"), readSnippets(readme)[0] ?? "")
  const app = spawn(process.execPath, [...getNodeOptions(), ...options.split(" ")], {
    cwd: folder,
    env: { ...process.env, PORT: port },
    stdio: ["ignore", "pipe", "inherit"]
  })
  onTestFinished(() => void app.kill("SIGKILL"))
  const exited = once(app, "exit")
  let output = ""
  for await (const chunk of app.stdout) {
    output += chunk
    if (!output.includes("Listening")) continue
    expect(run(call)).toBe("Hello, alice")
    app.kill("SIGTERM")
  }
  expect(output).toBe("Listening\n")
  expect(await exited).toEqual([0, null])
})
