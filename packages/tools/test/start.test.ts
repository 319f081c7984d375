/**
 * Follows docs/start.md: writes its files, changes them as its diffs say, and runs its commands. Only the installation is left out.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { eventually, findFreePort, getNodeOptions } from "@tollgate/testing"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"

const root = join(import.meta.dirname, "../../..")
const page = readFileSync(join(root, "docs/start.md"), "utf8")
const folder = mkdtempSync(join(root, ".readme-"))
let port = "3000"

const getBlocks = (info: string): ReadonlyArray<string> =>
  [...page.matchAll(new RegExp(`^\`\`\`${info}\n(.*?)^\`\`\``, "gms"))].map(([, text = ""]) =>
    text.replaceAll("3000", port)
  )

/** The command that contains a text. */
const getCommand = (text: string): string => getBlocks("sh").find((block) => block.includes(text)) ?? `missing: ${text}`

/** Replaces the unchanged and removed lines of a diff by the unchanged and added ones. */
const applyDiff = (code: string, diff: string): string => {
  const lines = diff.trimEnd().split("\n")
  const select = (sign: string) => lines.filter((line) => line[0] !== sign).map((line) => line.slice(1))
  expect(code).toContain(select("+").join("\n"))
  return code.replace(select("+").join("\n"), select("-").join("\n"))
}

const runShell = async (script: string): Promise<string> =>
  (await promisify(execFile)("sh", ["-ec", script], { cwd: folder })).stdout

const node = [process.execPath, ...getNodeOptions(), "--env-file=.env"] as const

let app: ChildProcess | undefined
const startApp = async (code: string): Promise<void> => {
  writeFileSync(join(folder, "app.ts"), code)
  app = spawn(node[0], [...node.slice(1), "app.ts"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] })
  for await (const chunk of app.stdout ?? []) if (String(chunk).includes("Listening")) break
}
const stopApp = async (): Promise<void> => {
  if (app?.exitCode !== null) return
  app.kill("SIGINT")
  await once(app, "exit")
}

beforeAll(async () => {
  port = String(await Effect.runPromise(findFreePort))
})
afterAll(async () => {
  await stopApp()
  rmSync(folder, { recursive: true, force: true })
})

it("docs/start.md leads to a key, a quota and a deployment", async () => {
  await runShell(getCommand("openssl"))
  let [code = ""] = getBlocks("ts app.ts")
  const [quotaDiff = "", ...deploymentDiffs] = getBlocks("diff")
  expect(deploymentDiffs.length).toBe(2)

  await startApp(code)
  const alice = JSON.parse(await runShell(getCommand('"name":"alice"')))
  const key = alice.apiKeys[0].key
  expect(await runShell(getCommand("KEY=tg_…").replace("tg_…", key))).toBe('{"hello":"alice","remaining":{}}')

  writeFileSync(join(folder, "setup.ts"), getBlocks("ts setup.ts")[0] ?? "")
  expect(await runShell(`${node.join(" ")} setup.ts`)).toBe("alice may make 5 requests a month\n")
  await stopApp()

  code = applyDiff(code, quotaDiff)
  await startApp(code)
  const calls = (await runShell(`KEY=${key}\n${getCommand("for call in")}`)).trim().split("\n")
  expect(calls.map((line) => JSON.parse(line).remaining?.requests)).toEqual([4, 3, 2, 1, 0, undefined])
  expect(JSON.parse(calls[5] ?? "")).toMatchObject({ status: 429, code: "quota-exceeded" })
  await stopApp()

  await startApp(deploymentDiffs.reduce(applyDiff, code))
  mkdirSync(join(folder, "site"))
  writeFileSync(join(folder, "site/index.html"), "<h1>It works</h1>")
  const output = await runShell(getCommand("tar czf"))
  const { url } = JSON.parse(output.slice(output.indexOf('{"status"')))
  await eventually(async () => expect(await (await fetch(url)).text()).toBe("<h1>It works</h1>"))
})
