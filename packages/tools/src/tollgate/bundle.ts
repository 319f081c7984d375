/**
 * Bundles `tollgate` with Effect inside. What an application brings itself stays outside: drivers and frameworks.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { build } from "esbuild"
import { directImports } from "../importModulesDirectly.ts"
import { onePackage } from "../publishedPackages.ts"

/** Source files by the names of their entry points. Worker threads need a file of their own. */
export const entries: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    onePackage.sources.map((source) => [relative(join(onePackage.folder, "src"), source).replace(/\.ts$/, ""), source])
  ),
  "release.worker": "packages/sites/src/release.worker.ts"
}

/** Returns the packages of others that are inside. */
export const bundle = async (
  entryPoints: Record<string, string>,
  outdir: string,
  external: ReadonlyArray<string> = []
): Promise<ReadonlySet<string>> => {
  const { metafile } = await build({
    entryPoints,
    outdir,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node22",
    // Entry points share chunks, so that each class exists once, whichever entry point it is imported from.
    splitting: true,
    conditions: ["@tollgate/source"],
    external: [...Object.keys(onePackage.manifest.peerDependencies ?? {}), ...external],
    plugins: [directImports],
    metafile: true
  })
  const inputs = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs))
  return new Set(
    inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(path)?.[1] ?? [])
  )
}

/** Their licences ask for their text. */
export const writeLicences = (packages: ReadonlySet<string>, path: string): void => {
  const texts = [...packages].sort().map((name) => {
    const { license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"))
    return `${name} (${license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`
  })
  writeFileSync(path, `This package contains:\n\n${texts.join("\n---\n\n")}`)
}
