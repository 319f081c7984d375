import { join } from "node:path"
import { defineConfig } from "tsup"
import { directImports } from "./src/importModulesDirectly.ts"
import { publishedPackages } from "./src/publishedPackages.ts"

// Builds only the JavaScript. tsc builds the types.
export default defineConfig(
  publishedPackages.map(({ folder, manifest, sources }) => ({
    name: manifest.name,
    // Worker threads need their own entry file.
    entry: [...sources, `${folder}/src/*.worker.ts`],
    outDir: join(folder, "dist"),
    format: "esm" as const,
    // Entry points share chunks, so that each class exists once, whichever entry point it is imported from.
    splitting: true,
    target: "node22",
    dts: false,
    sourcemap: true,
    skipNodeModulesBundle: true,
    esbuildPlugins: [directImports],
    silent: true
  }))
)
