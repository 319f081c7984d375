/**
 * Follows a README in an empty folder: runs its shell lines, which install the packages, and then its snippets.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { applicationFolder, readInstallLines, readSnippets, withEnd } from "./readme.ts"
import { runCheck } from "./runCheck.ts"

const environment = {
  ...process.env,
  TOLLGATE_SECRET: "a secret that only this check uses",
  TOLLGATE_TOKEN: "a-management-token-of-this-check",
  PORT: "0",
  npm_config_prefer_offline: "true"
}

/** Snippets that need a database server run in documentation.test.ts. Of those, only the imports run here. */
const withoutServer = (code: string): string =>
  code.includes("://localhost") ? (code.match(/^import .*$/gm) ?? []).join("\n") : code

const runSnippet = (label: string, code: string, folder: string): void => {
  const options = { cwd: folder, env: environment }
  if (code.includes("storeContract(")) {
    writeFileSync(join(folder, "snippet.test.ts"), code)
    runCheck(label, "npx", ["vitest", "run"], options)
  } else {
    writeFileSync(join(folder, "snippet.ts"), withEnd(withoutServer(code)))
    runCheck(label, process.execPath, ["snippet.ts"], options)
  }
}

export const checkReadme = (path: string): void => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-readme-"))
  try {
    const { overrides } = JSON.parse(readFileSync("package.json", "utf8"))
    const script = readInstallLines(path).join("\n").replaceAll(applicationFolder, folder)
    // `npm init` of npm 11 writes "commonjs".
    const type = script.includes("npm init") ? "commonjs" : "module"
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type, overrides }))
    runCheck(`installation as in ${path}`, "sh", ["-ec", script], { env: environment })
    for (const [index, code] of readSnippets(path).entries()) {
      runSnippet(`snippet ${index + 1} of ${path}, installed`, code, folder)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
