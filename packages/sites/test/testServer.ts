/**
 * A gate with sites on a real server, a folder of its own, and a small client.
 */
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  createTollgate,
  type DeploymentOptions,
  type DeploymentStatusJson,
  type Tollgate,
  type TollgateOptions
} from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"
import { type SitesOptions, sites } from "@tollgate/sites"
import { expect, vi } from "vitest"
import { grants, secret, tokens } from "../../core/test/stores.ts"

// biome-ignore lint/suspicious/noExplicitAny: a test reads answers as they come
type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

export interface TestServer {
  readonly gate: Tollgate
  readonly folder: string
  readonly url: string
  readonly call: (
    method: string,
    path: string,
    call?: { body?: unknown; headers?: Record<string, string>; token?: string | null }
  ) => Promise<Answer>
  /** Asks for an address. */
  readonly source: (projectName: string, branchName?: string) => Promise<{ uploadUrl: string; id: string }>
  readonly put: (uploadUrl: string, archive: Uint8Array, headers?: Record<string, string>) => Promise<Answer>
  readonly status: (projectName: string, id: string) => Promise<DeploymentStatusJson>
  /** The status once the run has ended. */
  readonly ended: (projectName: string, id: string) => Promise<DeploymentStatusJson>
  /** All of it: asks, uploads, waits. */
  readonly deploy: (
    projectName: string,
    archive: Uint8Array,
    branchName?: string
  ) => Promise<DeploymentStatusJson & { id: string }>
  /** What is on the disk, by folder. */
  readonly onDisk: () => { sources: Array<string>; staging: Array<string>; releases: Array<string> }
  readonly close: () => Promise<void>
}

export interface TestServerOptions extends Omit<SitesOptions, "folder"> {
  readonly folder?: string
  readonly sitesUrl?: string
  readonly changed?: (deployments: DeploymentOptions) => DeploymentOptions
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

export const startTestServer = async (
  store: TollgateOptions["store"],
  options: TestServerOptions = {}
): Promise<TestServer> => {
  const {
    folder = mkdtempSync(join(tmpdir(), "tollgate-sites-")),
    sitesUrl,
    changed = (same) => same,
    ...rest
  } = options
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${portOf(server)}`
  const gate = await createTollgate({
    store,
    secret,
    tokens: grants,
    publicUrl: url,
    ...(sitesUrl === undefined ? {} : { sitesUrl }),
    deployments: changed(sites({ folder, ...rest }))
  })
  const handle = toNodeHandler(gate)
  server.on("request", (req, res) => void handle(req, res))

  const answered = async (response: Response): Promise<Answer> => {
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson && text !== "" ? JSON.parse(text) : text }
  }

  const call: TestServer["call"] = async (method, path, { body, headers = {}, token = tokens.writer } = {}) =>
    answered(
      await fetch(path.startsWith("http") ? path : `${url}${path}`, {
        method,
        redirect: "manual",
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )

  const source: TestServer["source"] = async (projectName, branchName = "main") => {
    const body = { accountName: "acme", projectName, branchName }
    const made = await call("POST", "/v1/deployments/sources", { body })
    expect(made.status).toBe(200)
    const { uploadUrl } = made.body
    return { uploadUrl, id: new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "") ?? "" }
  }

  const put: TestServer["put"] = async (uploadUrl, archive, headers = {}) =>
    answered(await fetch(uploadUrl, { method: "PUT", body: archive as Uint8Array<ArrayBuffer>, headers }))

  const status: TestServer["status"] = async (projectName, id) =>
    (await call("GET", `/v1/accounts/acme/projects/${projectName}/deployment-status/${id}`)).body

  const ended: TestServer["ended"] = (projectName, id) =>
    vi.waitFor(
      async () => {
        const last = await status(projectName, id)
        expect(last.status).toMatch(/^(SUCCESS|ERROR)$/)
        return last
      },
      { interval: 20, timeout: 60_000 }
    )

  return {
    gate,
    folder,
    url,
    call,
    source,
    put,
    status,
    ended,
    deploy: async (projectName, archive, branchName = "main") => {
      const { uploadUrl, id } = await source(projectName, branchName)
      expect((await put(uploadUrl, archive)).status).toBe(200)
      return { ...(await ended(projectName, id)), id }
    },
    onDisk: () => {
      const names = (place: string) => (existsSync(join(folder, place)) ? readdirSync(join(folder, place)) : [])
      return { sources: names("sources"), staging: names("staging"), releases: names("releases") }
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await gate.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    }
  }
}
