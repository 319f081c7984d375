/**
 * What a README says to run: the shell lines that install the packages, and the TypeScript snippets.
 */
import { readFileSync } from "node:fs"

/** The folder of the reader's application in the shell lines. */
export const applicationFolder = "../my-app"

const readBlocks = (path: string, language: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(
    ([, code = ""]) => code
  )

/** A program that ends: one that waits for SIGTERM sends it to itself when its last line has run. */
export const withEnd = (code: string): string =>
  code.includes('once("SIGTERM"') ? `${code}\nprocess.kill(process.pid, "SIGTERM")\n` : code

export const readSnippets = (path: string): ReadonlyArray<string> => readBlocks(path, "ts")

/** The lines that pack the packages in a clone and install the tarballs. The build that precedes them is left out. */
export const readInstallLines = (path: string): ReadonlyArray<string> => {
  const block = readBlocks(path, "sh").find((code) => code.includes("npm pack"))
  if (block === undefined) throw new Error(`${path} does not say how to install the package`)
  const lines = block.trim().split("\n")
  return lines.slice(lines.findIndex((line) => line.startsWith("npm pack")))
}

/** The packages of this workspace that the lines pack, in their order. */
export const listPacked = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...lines.join(" ").matchAll(/ -w (\S+)/g)].map(([, name = ""]) => name)

/** The packages that the lines install from npm, without their versions, in their order. */
export const listInstalled = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [, names = ""] = /npm install(?: -D)? \.\/tollgate-\*\.tgz(.*)$/m.exec(lines.join("\n")) ?? []
  return names
    .split(" ")
    .filter((name) => name !== "")
    .map((name) => name.replace(/(?<=.)@.*$/, ""))
}
