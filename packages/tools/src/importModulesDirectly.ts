/**
 * An esbuild plugin that turns `import { Effect } from "effect"` into `import * as Effect from "effect/Effect"`. The
 * index of `effect` loads all of its modules; this loads only those that are used.
 */
import { readFile } from "node:fs/promises"
import type { Plugin } from "esbuild"

const namedImport = /import (?!type\b)\{([^}]*)\} from "(effect(?:\/http|\/http-api)?)"/g

/** Keeps the number of lines, so that stack traces point at the right line of the source. */
export const importModulesDirectly = (source: string): string =>
  source.replaceAll(namedImport, (_, names: string, index: string) => {
    const modules = names.split(",").map((name) => name.trim())
    const imports = modules
      .filter((name) => name !== "" && !name.startsWith("type "))
      .map((name) => {
        const [module, local = module] = name.split(" as ")
        return `import * as ${local} from "${index}/${module}"`
      })
    return imports.join("; ") + names.replaceAll(/[^\n]/g, "")
  })

export const directImports: Plugin = {
  name: "direct-imports",
  setup: (build) => {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => ({
      contents: importModulesDirectly(await readFile(path, "utf8")),
      loader: "ts"
    }))
  }
}
