/**
 * Runs the program, and the commands of the guide that try it.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { getNodeOptions } from "@tollgate/testing"
import { expect, it, onTestFinished } from "vitest"

const guide = readFileSync(new URL("../../../docs/guides/saas.md", import.meta.url), "utf8")
const [, commands = ""] = /```sh\n(URL=.*?)```/s.exec(guide) ?? []
const main = new URL("../src/main.ts", import.meta.url).pathname

const findFreePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return String(port)
}

it("the commands of the guide do what it says", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "tollgate-saas-"))
  const PORT = await findFreePort()
  const settings = { TOLLGATE_SECRET: "s".repeat(32), TOLLGATE_TOKEN: "a-management-token-for-tests", PORT }
  const child = spawn(process.execPath, [...getNodeOptions(), main], { cwd, env: { ...process.env, ...settings } })
  const exited = once(child, "exit")
  onTestFinished(async () => {
    child.kill("SIGTERM")
    await exited
    rmSync(cwd, { recursive: true, force: true })
  })
  let printed = ""
  for await (const chunk of child.stdout) {
    printed += chunk
    if (printed.includes("\n")) break
  }
  expect(printed).toContain(`Listening on port ${PORT}. The console: http://127.0.0.1:${PORT}/admin/console/#code=`)

  const script = commands.replace(":3000", `:${PORT}`)
  const { stdout } = await promisify(execFile)("sh", ["-ec", script], { cwd })
  expect(stdout).toMatch(/^\{"customer":.*"remaining":\{"requests":99\}.*"missing-feature".*"payAt".*id,total/s)
  expect(stdout).toMatch(/\{"text":"HELLO","tokens":5\}.*"requests":\{"remaining":9998/s)
})
