/**
 * Deploys a page with the built packages and requests it. This tests the worker threads of `@tollgate/sites`, which run
 * from files that no other module imports.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { sites } from "@tollgate/sites"
import { makePageArchive } from "../../sites/test/archives.ts"

const folder = mkdtempSync(join(tmpdir(), "tollgate-built-"))
const store = MemoryStore.open()
const gate = await createTollgate({
  store,
  secret: "a secret for this build check only",
  tokens: [{ token: "a-management-token-of-the-build", account: "*" }],
  publicUrl: "http://localhost",
  modules: [deployments(sites({ folder }))]
})
const request = async (path: string, init: RequestInit = {}) => {
  const headers = { authorization: "Bearer a-management-token-of-the-build" }
  return gate.handler(new Request(new URL(path, "http://localhost"), { headers, ...init }))
}
try {
  const { uploadUrl } = await gate.account("acme").project("web").deployments.createSource({ branchName: "main" })
  await request(uploadUrl, { method: "PUT", body: new Uint8Array(makePageArchive("built")) })
  const id = new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "")
  const path = `/v1/accounts/acme/projects/web/deployment-status/${id}`
  let status = { status: "IN_PROGRESS", url: "", buildResult: { error: "" } }
  while (status.status === "IN_PROGRESS") {
    await setTimeout(50)
    status = JSON.parse(await (await request(path)).text())
  }
  const page = status.status === "SUCCESS" ? await (await request(status.url)).text() : status.buildResult.error
  if (page !== "built") throw new Error(`The built packages cannot deploy a site: ${page}`)
} finally {
  await gate.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
