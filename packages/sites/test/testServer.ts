/**
 * A real HTTP server with sites in a temporary folder, and a small client.
 */
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import {
  type DeploymentOptions,
  type DeploymentStatusJson,
  type DeploymentsModule,
  deployments
} from "@tollgate/deployments"
import { toNodeHandler } from "@tollgate/node"
import { type SitesOptions, sites } from "@tollgate/sites"
import { expect, vi } from "vitest"
import { grants, secret, tokens } from "../../core/test/stores.ts"

// biome-ignore lint/suspicious/noExplicitAny: tests read response bodies without a schema
type Json = any

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

export interface TestServer {
  readonly gate: Tollgate<DeploymentsModule>
  readonly folder: string
  readonly url: string
  readonly call: (
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; token?: string | null }
  ) => Promise<TestResponse>
  /** Requests an upload URL. */
  readonly createSource: (projectName: string, branchName?: string) => Promise<{ uploadUrl: string; id: string }>
  readonly put: (uploadUrl: string, archive: Uint8Array, headers?: Record<string, string>) => Promise<TestResponse>
  readonly status: (projectName: string, id: string) => Promise<DeploymentStatusJson>
  /** Waits until the run has ended, and returns its status. */
  readonly waitForEnd: (projectName: string, id: string) => Promise<DeploymentStatusJson>
  /** Requests an upload URL, uploads, and waits until the run has ended. */
  readonly deploy: (
    projectName: string,
    archive: Uint8Array,
    branchName?: string
  ) => Promise<DeploymentStatusJson & { id: string }>
  /** Lists the files on the disk by folder. */
  readonly onDisk: () => { sources: Array<string>; staging: Array<string>; releases: Array<string> }
  readonly close: () => Promise<void>
}

export interface TestServerOptions extends Omit<SitesOptions, "folder"> {
  readonly folder?: string
  readonly sitesUrl?: string
  readonly accountLimits?: TollgateOptions["limits"]
  readonly mapDeployments?: (deployments: DeploymentOptions) => DeploymentOptions
}

const getPort = (server: Server): number => {
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
    accountLimits,
    mapDeployments = (deployments) => deployments,
    ...rest
  } = options
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${getPort(server)}`
  const gate = await createTollgate({
    store,
    secret,
    tokens: grants,
    publicUrl: url,
    limits: accountLimits,
    modules: [deployments({ ...mapDeployments(sites({ folder, ...rest })), sitesUrl })]
  })
  const handle = toNodeHandler(gate)
  server.on("request", (req, res) => void handle(req, res))

  const toTestResponse = async (response: Response): Promise<TestResponse> => {
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson && text !== "" ? JSON.parse(text) : text }
  }

  const call: TestServer["call"] = async (method, path, { body, headers = {}, token = tokens.writer } = {}) =>
    toTestResponse(
      await fetch(path.startsWith("http") ? path : `${url}${path}`, {
        method,
        redirect: "manual",
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )

  const createSource: TestServer["createSource"] = async (projectName, branchName = "main") => {
    const body = { accountName: "acme", projectName, branchName }
    const response = await call("POST", "/v1/deployments/sources", { body })
    expect(response.status).toBe(200)
    const { uploadUrl } = response.body
    return { uploadUrl, id: new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "") ?? "" }
  }

  const put: TestServer["put"] = async (uploadUrl, archive, headers = {}) =>
    toTestResponse(await fetch(uploadUrl, { method: "PUT", body: archive as Uint8Array<ArrayBuffer>, headers }))

  const status: TestServer["status"] = async (projectName, id) =>
    (await call("GET", `/v1/accounts/acme/projects/${projectName}/deployment-status/${id}`)).body

  const waitForEnd: TestServer["waitForEnd"] = (projectName, id) =>
    vi.waitFor(
      async () => {
        const current = await status(projectName, id)
        expect(current.status).toMatch(/^(SUCCESS|ERROR)$/)
        return current
      },
      { interval: 20, timeout: 60_000 }
    )

  return {
    gate,
    folder,
    url,
    call,
    createSource,
    put,
    status,
    waitForEnd,
    deploy: async (projectName, archive, branchName = "main") => {
      const { uploadUrl, id } = await createSource(projectName, branchName)
      expect((await put(uploadUrl, archive)).status).toBe(200)
      return { ...(await waitForEnd(projectName, id)), id }
    },
    onDisk: () => {
      const list = (subfolder: string) => {
        const path = join(folder, subfolder)
        return existsSync(path) ? readdirSync(path) : []
      }
      return { sources: list("sources"), staging: list("staging"), releases: list("releases") }
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await gate.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    }
  }
}
