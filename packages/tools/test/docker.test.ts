/**
 * Checks what can be checked of the Dockerfile and compose.yaml without Docker.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { parse } from "yaml"

const dockerfile = readFileSync("Dockerfile", "utf8").replaceAll(/\\\n\s*/g, "")
const listSteps = (name: string): ReadonlyArray<string> =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, step = ""]) => step)

interface Service {
  readonly image?: string
  readonly build?: string
  readonly read_only?: boolean
  readonly tmpfs?: ReadonlyArray<string>
  readonly ports?: ReadonlyArray<string>
  readonly volumes?: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test: ReadonlyArray<string> }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
}
const compose: { readonly services: Readonly<Record<string, Service>>; readonly volumes: object } = parse(
  readFileSync("compose.yaml", "utf8")
)

describe("the Dockerfile", () => {
  it("copies files that exist, and installs a workspace that exists", () => {
    const sources = listSteps("COPY")
      .filter((step) => !step.startsWith("--from"))
      .flatMap((step) => step.split(" ").slice(0, -1))
    expect(sources.length).toBeGreaterThanOrEqual(4)
    expect(sources.filter((path) => !existsSync(path))).toEqual([])
    const { name } = JSON.parse(readFileSync("examples/express-sqlite/package.json", "utf8"))
    expect(listSteps("RUN")[0]).toContain(`npm ci --omit=dev --ignore-scripts --no-audit --no-fund --workspace ${name}`)
  })

  it("installs the packages behind the subpaths of tollgate that the server imports", () => {
    const findImports = (file: string, pattern: RegExp): ReadonlyArray<string> =>
      [...readFileSync(file, "utf8").matchAll(pattern)].map(([, path = ""]) => path || "index")
    const subpaths = globSync("examples/express-sqlite/src/**/*.ts").flatMap((file) =>
      findImports(file, /from "tollgate\/?(.*)"/g)
    )
    const packages = subpaths.flatMap((path) =>
      findImports(`packages/tollgate/src/${path}.ts`, /from "@tollgate\/([a-z-]+)/g)
    )
    const installed = [...(listSteps("RUN")[0] ?? "").matchAll(/-w packages\/(\S+)/g)].map(([, name]) => name)
    expect(installed).toEqual([...new Set(packages)].sort())
  })

  it("starts the server as npm start does, as a user without rights", () => {
    const command: ReadonlyArray<string> = JSON.parse(listSteps("CMD").at(-1) ?? "")
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"))
    expect(`exec ${command.join(" ")}`).toBe(scripts.start)
    expect(listSteps("USER")).toEqual(["node"])
    expect(listSteps("FROM").map((step) => step.split(" ")[0])).toEqual(["node:24-slim", "node:24-slim"])
  })

  it("checks the health of the server with a program that runs", async () => {
    const [, code = ""] = /--eval", ("(?:[^"\\]|\\.)*")\]/.exec(dockerfile) ?? []
    const program = new Function("fetch", "process", `return ${JSON.parse(code)}`)
    const check = async (response: () => Promise<{ ok: boolean }>) => {
      const codes: Array<number> = []
      await program(response, { exit: (code: number) => codes.push(code) })
      return codes
    }
    expect(await check(async () => ({ ok: true }))).toEqual([0])
    expect(await check(async () => ({ ok: false }))).toEqual([1])
    expect(await check(() => Promise.reject(new Error("refused")))).toEqual([1])
  })
})

describe("compose.yaml", () => {
  const services = Object.entries(compose.services)

  it("runs the server, PostgreSQL and Valkey on read-only file systems, with volumes that it declares", () => {
    expect(services.map(([name]) => name)).toEqual(["server", "postgres", "valkey"])
    for (const [name, { read_only, tmpfs, volumes = [] }] of services) {
      expect([name, read_only, tmpfs]).toEqual([name, true, expect.arrayContaining(["/tmp"])])
      const declared = volumes.filter((volume) => (volume.split(":")[0] ?? "") in compose.volumes)
      expect(declared).toHaveLength(1)
    }
  })

  it("starts the server when its stores are healthy, and shows no store to the host", () => {
    const { server, ...stores } = compose.services
    expect(server?.depends_on).toEqual({
      postgres: { condition: "service_healthy" },
      valkey: { condition: "service_healthy" }
    })
    for (const { healthcheck, ports } of Object.values(stores)) {
      expect(healthcheck?.test[0]).toBe("CMD")
      expect(ports).toBeUndefined()
    }
    expect(server?.ports).toEqual(["127.0.0.1:3000:3000"])
  })

  it("sets only variables that the server knows, and has no default secret", () => {
    const settings = readFileSync("docs/reference/settings.md", "utf8")
    const { environment = {} } = compose.services["server"] ?? {}
    expect(Object.keys(environment).filter((name) => !settings.includes(`\`${name}\``))).toEqual([])
    expect(environment["TOLLGATE_SECRET"]).toMatch(/^\$\{TOLLGATE_SECRET:\?/)
    expect(environment["TOLLGATE_TOKENS"]).toMatch(/^\$\{TOLLGATE_TOKENS:\?/)
  })
})
