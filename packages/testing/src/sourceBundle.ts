/**
 * Bundles the sources of all packages, with Effect, so that a child process loads a few files instead of compiling
 * hundreds: it starts in a third of the time. `setup/sourceBundle.ts` builds the bundle once for each test run.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { build, type Plugin } from "esbuild"

const root = join(import.meta.dirname, "../../..")
const cacheFolder = join(root, "node_modules/.cache")

/** The entry points of Effect that programs may import. Each module exists once, in the bundle. */
const effectEntries = ["effect", "effect/http", "effect/http-api", "effect/testing"]

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The source files by what a program imports, such as `@tollgate/core/client`. */
const listEntries = (): ReadonlyMap<string, string> => {
  const entries = new Map(effectEntries.map((specifier) => [specifier, specifier]))
  for (const folder of readdirSync(join(root, "packages")).map((name) => join(root, "packages", name))) {
    const { name, exports = {} }: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    for (const [path, { "@tollgate/source": source }] of Object.entries(exports)) {
      if (source !== undefined) entries.set(join(name, path), join(folder, source))
    }
  }
  return entries
}

/** Leaves everything but Tollgate and Effect where it is, and what Effect loads only for its own pages. */
const externalPackages: Plugin = {
  name: "external-packages",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === "entry-point" || /^(@tollgate|effect)(\/|$)/.test(path) ? undefined : { path, external: true }
    )
    onResolve({ filter: /\/httpApi(Scalar|Swagger)/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      external: true
    }))
  }
}

const toFileName = (specifier: string): string => specifier.replaceAll("/", "+")

/** A module that makes Node resolve imports to the bundle. */
const makeRegister = (folder: string, specifiers: Iterable<string>): string => `
import { enableCompileCache, registerHooks } from "node:module"
enableCompileCache(${JSON.stringify(join(folder, "compiled"))})
const files = new Map(${JSON.stringify(
  [...specifiers].map((specifier) => [specifier, pathToFileURL(join(folder, `${toFileName(specifier)}.js`)).href])
)})
registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const url = files.get(specifier)
    if (url !== undefined) return { url, format: "module", shortCircuit: true }
    if (specifier.startsWith("effect/")) throw new Error(\`Add \${specifier} to effectEntries in packages/testing/src/sourceBundle.ts\`)
    return nextResolve(specifier, context)
  }
})
`

export interface SourceBundle {
  /** A module for the option `--import` of Node. */
  readonly register: string
  readonly rebuild: () => Promise<void>
  readonly remove: () => void
}

export const buildSources = async (): Promise<SourceBundle> => {
  mkdirSync(cacheFolder, { recursive: true })
  // Below the root, so that the packages that are left out are found.
  const folder = mkdtempSync(join(cacheFolder, "tollgate-sources-"))
  const register = join(folder, "register.js")
  const rebuild = async (): Promise<void> => {
    const entries = listEntries()
    await build({
      absWorkingDir: root,
      entryPoints: {
        ...Object.fromEntries([...entries].map(([specifier, source]) => [toFileName(specifier), source])),
        // Worker threads need their own entry file.
        "release.worker": join(root, "packages/sites/src/release.worker.ts")
      },
      outdir: folder,
      bundle: true,
      // Entry points share chunks, so that each class exists once, whichever entry point it is imported from.
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node22",
      conditions: ["@tollgate/source"],
      plugins: [externalPackages],
      logLevel: "error"
    })
    writeFileSync(register, makeRegister(folder, entries.keys()))
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  await rebuild()
  return { register, rebuild, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
