/**
 * Packs every package, installs the tarballs in an empty folder, and uses them there as an application does.
 */
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findOldNode } from "./findOldNode.ts"
import { findTypeErrors } from "./findTypeErrors.ts"
import { publishedPackages } from "./publishedPackages.ts"
import { reportCheck, runCheck } from "./runCheck.ts"

/** Its files are the application. They are TypeScript, which Node runs as it is. */
const application = "packages/tools/application"

/** Packs the packages into a folder and returns the dependencies of an application that uses them. */
const pack = (folder: string): Record<string, string> => {
  const options = ["--json", "--pack-destination", folder, ...publishedPackages.map(({ folder }) => `./${folder}`)]
  const packed: ReadonlyArray<{ readonly name: string; readonly filename: string }> = Object.values(
    JSON.parse(execFileSync("npm", ["pack", ...options], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))
  )
  return Object.fromEntries(packed.map(({ name, filename }) => [name, `file:${filename}`]))
}

const install = (folder: string): void => {
  const { devDependencies, overrides } = JSON.parse(readFileSync("package.json", "utf8"))
  cpSync(application, folder, { recursive: true })
  const manifest = {
    private: true,
    type: "module",
    dependencies: pack(folder),
    devDependencies: {
      "@types/node": devDependencies["@types/node"],
      typescript: devDependencies.typescript,
      // An alias, since this workspace itself has no use for an older compiler.
      typescript5: "npm:typescript@~5.9.3"
    },
    overrides
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
  runCheck("installation of the tarballs", "npm", ["install", ...options], { cwd: folder })
}

/** Checks the types of the application with each compiler and each way to resolve modules. */
const checkTypes = (folder: string): void => {
  const compilers = { "TypeScript 5.9": "typescript5", "TypeScript 7": "typescript" }
  for (const [name, compiler] of Object.entries(compilers)) {
    for (const moduleResolution of ["nodenext", "bundler"]) {
      const errors = findTypeErrors(folder, compiler, moduleResolution)
      reportCheck(`types with ${name}, ${moduleResolution}`, errors.length === 0, errors.join("\n"))
    }
  }
}

export const checkInstalledPackages = (): void => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-installed-"))
  try {
    install(folder)
    // The testkit can be imported only while Vitest runs.
    const specifiers = publishedPackages
      .flatMap(({ specifiers }) => specifiers)
      .filter((specifier) => specifier !== "@tollgate/store-testkit")
    const names = publishedPackages.map(({ manifest }) => manifest.name)
    runCheck("content of the tarballs", process.execPath, ["content.ts", ...names], { cwd: folder })
    runCheck("import of every entry point", process.execPath, ["import.ts", ...specifiers], { cwd: folder })
    runCheck("require of every entry point", process.execPath, ["require.cts", ...specifiers], { cwd: folder })
    runCheck("a program with the installed packages", process.execPath, ["program.ts"], { cwd: folder })
    runCheck("the store contract with the installed testkit", "npx", ["vitest", "run"], { cwd: folder })
    checkTypes(folder)
    const oldNode = findOldNode()
    if (oldNode === undefined) console.log("not run: refusal of an old Node, since the PATH has none")
    else runCheck(`refusal of Node ${oldNode.version}`, oldNode.path, ["oldNode.mjs"], { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
