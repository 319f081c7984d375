/**
 * Runs the programs of docs/guides/authorize-over-http.md in each language that is installed, against a server.
 */
import { execFile, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const page = readFileSync(join(import.meta.dirname, "../../../docs/guides/authorize-over-http.md"), "utf8")

const getBlock = (language: string): string => {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))]
  expect(blocks).toHaveLength(1)
  return blocks[0]?.[1] ?? ""
}

const token = "a-token-of-a-server-in-another-language"
const gate = await createTollgate({
  store: MemoryStore.open(),
  secret: "a secret that only these tests use",
  tokens: [{ token, account: "acme", permissions: ["authorize"] }]
})
const server = createServer(toNodeHandler(gate, { prefix: "/api/dev" }))
const scope = Scope.makeUnsafe()
let env: NodeJS.ProcessEnv
let folder: string

beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { consumers } = gate.account("acme").keyBucket("production")
  const { apiKeys } = await consumers.create({ name: "alice", apiKeys: [{ scopes: ["orders:read"] }] })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/dev`
  env = { ...process.env, TOLLGATE_URL: url, TOLLGATE_TOKEN: token, API_KEY: apiKeys?.[0]?.key }
  folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await gate.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const languages = [
  {
    language: "sh",
    command: "curl",
    version: "--version",
    run: (file: string) => ["sh", [file]] as const,
    check: (stdout: string) =>
      expect(JSON.parse(stdout)).toMatchObject({ allowed: true, consumer: { name: "alice" }, status: 200 })
  },
  {
    language: "python",
    command: "python3",
    version: "--version",
    run: (file: string) => ["python3", [file]] as const,
    check: (stdout: string) => {
      const expected = [...getBlock("python").matchAll(/^print\(.*\) {2}# (.*)$/gm)].map(([, line]) => line)
      expect(expected).toHaveLength(2)
      expect(stdout.trim().split("\n")).toEqual(expected)
    }
  },
  {
    language: "go",
    command: "go",
    version: "version",
    run: (file: string) => ["go", ["run", file]] as const,
    check: (stdout: string) => expect(stdout).toBe("200 alice \n403 alice missing-scope\n")
  }
]

describe("the guide to authorize over HTTP", () => {
  for (const { language, command, version, run, check } of languages) {
    const isInstalled = spawnSync(command, [version]).status === 0
    it(`works with ${command}`, async ({ skip }) => {
      const code = getBlock(language)
      if (!isInstalled) {
        console.warn(`NOT RUN: the program of the guide for ${command}, which is not installed`)
        skip(`${command} is not installed`)
      }
      const file = join(folder, `example.${language === "python" ? "py" : language}`)
      writeFileSync(file, code)
      const [program, args] = run(file)
      check((await promisify(execFile)(program, args, { env, cwd: folder })).stdout)
    })
  }
})
