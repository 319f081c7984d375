import { readdirSync, readFileSync } from "node:fs"
import { defineConfig } from "tsup"

const isPublished = (name: string): boolean =>
  JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")).private !== true

// Builds only the JavaScript. tsc builds the types.
export default defineConfig(
  readdirSync("packages")
    .filter(isPublished)
    .map((name) => ({
      name,
      // Worker threads need their own entry file.
      entry: [`packages/${name}/src/index.ts`, `packages/${name}/src/*.worker.ts`],
      outDir: `packages/${name}/dist`,
      format: "esm" as const,
      target: "node22",
      dts: false,
      sourcemap: true,
      skipNodeModulesBundle: true,
      silent: true
    }))
)
