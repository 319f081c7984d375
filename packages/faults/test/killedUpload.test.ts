/**
 * A server that is killed during an upload. The lease of the upload URL expires after half a minute.
 */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { eventually } from "@tollgate/testing"
import { afterAll, expect, it } from "vitest"
import { parseUrl, startServer, stopServer } from "../../../examples/express-sqlite/test/startServer.ts"

const killed = mkdtempSync(join(tmpdir(), "tollgate-killed-"))
afterAll(() => rmSync(killed, { recursive: true, force: true }))

it("a server that is killed during an upload records no deployment, and accepts the upload after a restart", async () => {
  const environment = { TOLLGATE_DATA: killed, TOLLGATE_TOKENS: "a-token-that-may-also-write:acme" }
  const headers = { authorization: "Bearer a-token-that-may-also-write" }
  const first = await startServer(environment)
  const response = await fetch(`${parseUrl(first.output)}/v1/deployments/sources`, {
    method: "POST",
    headers,
    body: JSON.stringify({ accountName: "acme", projectName: "p", branchName: "main" })
  })
  const { uploadUrl } = (await response.json()) as { uploadUrl: string }
  const { port, pathname, search } = new URL(uploadUrl)
  const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nbegun`)
  const sources = join(killed, "sites/sources")
  await eventually(() => expect(readdirSync(sources)).toHaveLength(1))
  const exited = once(first.child, "exit")
  first.child.kill("SIGKILL")
  await exited

  const second = await startServer(environment)
  const url = parseUrl(second.output)
  const id = pathname.split("/").at(-1)?.replace(".tar.gz", "")
  const status = () => fetch(`${url}/v1/accounts/acme/projects/p/deployment-status/${id}`, { headers })
  expect((await status()).status).toBe(404)
  mkdirSync(join(killed, "page"))
  writeFileSync(join(killed, "page/index.html"), "whole")
  const archive = (
    await promisify(execFile)("tar", ["-czf", "-", "-C", join(killed, "page"), "."], { encoding: "buffer" })
  ).stdout
  const put = () => fetch(`${url}${pathname}${search}`, { method: "PUT", body: new Uint8Array(archive) })
  // The killed server still holds the lease of the upload URL until the lease expires.
  await expect.poll(async () => (await put()).status, { timeout: 60_000, interval: 1_000 }).toBe(200)
  await eventually(async () => expect(await (await status()).json()).toMatchObject({ status: "SUCCESS" }))
  expect(await stopServer(second)).toBe(0)
}, 90_000)
