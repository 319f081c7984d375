import { readdirSync, readFileSync } from "node:fs"
import { defineConfig } from "tsup"

const isPublished = (name: string): boolean =>
  JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")).private !== true

// Types come from tsc: this makes the JavaScript alone.
export default defineConfig(
  readdirSync("packages")
    .filter(isPublished)
    .map((name) => ({
      name,
      // A worker thread is started from a file of its own.
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
