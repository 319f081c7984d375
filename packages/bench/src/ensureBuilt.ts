/**
 * Builds the packages if they are not built, or older than their sources.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")

const isOutdated = (name: string): boolean => {
  const [sources, built] = [join(root, "packages", name, "src"), join(root, "packages", name, "dist/index.js")]
  if (!existsSync(built)) return true
  const builtAt = statSync(built).mtimeMs
  return readdirSync(sources, { recursive: true, encoding: "utf8" }).some(
    (path) => path.endsWith(".ts") && statSync(join(sources, path)).mtimeMs > builtAt
  )
}

/** Builds only the JavaScript, as `npm run build` does at its end: the generated sources are committed. */
export const ensureBuilt = (names: ReadonlyArray<string>): void => {
  const outdated = names.filter(isOutdated)
  if (outdated.length === 0) return
  console.log(`Building the packages, because the build of ${outdated.join(" and ")} is missing or outdated`)
  execFileSync(join(root, "node_modules/.bin/tsup"), ["--config", "packages/tools/tsup.config.ts"], {
    cwd: root,
    stdio: "inherit"
  })
}
