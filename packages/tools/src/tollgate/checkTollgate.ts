/**
 * Checks `tollgate` as npm would publish it: its types, the store contract and the HTTP suite on what was built, and an
 * application in an empty folder, on every supported Node.
 */
import { execFileSync } from "node:child_process"
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findTypeErrors } from "../findTypeErrors.ts"
import { canInstallNodes, ensureNode, supportedNodes } from "../nodes.ts"
import { onePackage } from "../publishedPackages.ts"
import { reportCheck, runCheck } from "../runCheck.ts"
import { compareTypes, findMissedMistakes, makeComparison } from "./compareTypes.ts"

/** Of the installed package, beside the driver. */
const maxMegabytes = 5

/** The versions that the packages inside are tested with. */
const { packages: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"))
const withVersion = (name: string): string => `${name}@${locked[`node_modules/${name}`].version}`

const pack = (folder: string): string => {
  const options = ["pack", "--json", "--pack-destination", folder, `./${onePackage.folder}`]
  const output = execFileSync("npm", options, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
  const [{ filename }] = Object.values<{ readonly filename: string }>(JSON.parse(output)) as [{ filename: string }]
  return `./${filename}`
}

const install = (label: string, folder: string, packages: ReadonlyArray<string>): void => {
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
  runCheck(label, "npm", ["install", ...options, ...packages], { cwd: folder })
}

const measure = (folder: string): number =>
  globSync(`${folder}/**`, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0) / 1e6

/** Of the packages in a folder, those that an application with SQLite did not ask for. */
const checkInstalled = (folder: string): void => {
  const modules = join(folder, "node_modules")
  const driver = JSON.parse(readFileSync(join(modules, "better-sqlite3/package.json"), "utf8"))
  const expected = ["better-sqlite3", ...Object.keys(driver.dependencies ?? {}), onePackage.manifest.name].sort()
  const names = readdirSync(modules).filter((name) => !name.startsWith("."))
  reportCheck("only the driver is installed beside tollgate", names.sort().join() === expected.join(), names.join())
  const megabytes = measure(join(modules, onePackage.manifest.name))
  const isSmall = megabytes <= maxMegabytes
  reportCheck(
    `${megabytes.toFixed(1)} MB, of at most ${maxMegabytes}`,
    isSmall,
    "Find out what became part of the bundle."
  )
  const declarations = globSync(join(modules, onePackage.manifest.name, "dist/**/*.d.ts"))
  const withEffect = declarations.filter((path) =>
    /["']effect|@tollgate\//.test(readFileSync(path, "utf8").replaceAll(/\/\*.*?\*\//gs, ""))
  )
  reportCheck("declarations without Effect", declarations.length > 20 && withEffect.length === 0, withEffect.join("\n"))
}

/** The application on every supported Node, or where they cannot be installed, on this one. */
const tryOnNodes = (folder: string): void => {
  const nodes = canInstallNodes ? supportedNodes.map(ensureNode) : [{ version: process.version, env: process.env }]
  for (const { version, env } of nodes) {
    const options = { cwd: folder, env }
    runCheck(`import of every entry point on Node ${version}`, "node", ["import.ts", ...onePackage.specifiers], options)
    runCheck(
      `require of every entry point on Node ${version}`,
      "node",
      ["require.cts", ...onePackage.specifiers],
      options
    )
    runCheck(`a program with tollgate on Node ${version}`, "node", ["program.ts"], options)
  }
}

const tryInEmptyFolder = (): void => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-one-"))
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
    for (const file of ["import.ts", "require.cts", "tsconfig.json"]) {
      cpSync(join("packages/tools/application", file), join(folder, file))
    }
    cpSync(join(onePackage.folder, "application"), folder, { recursive: true })
    install("installation of tollgate", folder, [pack(folder), withVersion("better-sqlite3")])
    checkInstalled(folder)
    const others = Object.keys(onePackage.manifest.peerDependencies ?? {})
    install("installation of its peers", folder, [...others, "@types/node"].map(withVersion))
    tryOnNodes(folder)
    const imports = onePackage.specifiers.map((specifier, index) => `export type * as e${index} from "${specifier}"\n`)
    writeFileSync(join(folder, "contract.test.ts"), imports.join(""))
    for (const [name, compiler] of Object.entries({ "TypeScript 5.9": "typescript5", "TypeScript 7": "typescript" })) {
      for (const moduleResolution of ["nodenext", "bundler"]) {
        const errors = findTypeErrors(folder, compiler, moduleResolution)
        reportCheck(`types of tollgate with ${name}, ${moduleResolution}`, errors.length === 0, errors.join("\n"))
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const comparison = makeComparison()
const differences = compareTypes(comparison)
reportCheck("types of tollgate, compared with the packages inside", differences.length === 0, differences.join("\n"))
const missed = findMissedMistakes(comparison)
reportCheck("mistakes in types are found", missed.length === 0, missed.join("\n"))
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--root", ".", "--config"]
runCheck("store contract and HTTP suite with the built tollgate", process.execPath, [
  ...vitest,
  join(onePackage.folder, "vitest.config.ts")
])
tryInEmptyFolder()
