/**
 * Checks the types of an application with a compiler, declarations of libraries included.
 */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"

/** Errors in declarations of other libraries, such as those of effect that need the types of a browser. */
const isForeign = (line: string): boolean =>
  line.startsWith("node_modules/") && !/^node_modules\/(@tollgate|tollgate)\//.test(line)

/** Returns the errors in the application and in the declarations of Tollgate. */
export const findTypeErrors = (folder: string, compiler: string, moduleResolution: string): ReadonlyArray<string> => {
  const module = moduleResolution === "bundler" ? "esnext" : "nodenext"
  const options = ["--project", ".", "--pretty", "false", "--module", module, "--moduleResolution", moduleResolution]
  const program = createRequire(import.meta.url)
    .resolve(`${compiler}/package.json`)
    .replace("package.json", "bin/tsc")
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...options], {
    encoding: "utf8",
    cwd: folder
  })
  const lines = `${stdout}${stderr}`.split("\n").filter((line) => /^\S/.test(line))
  if (status !== 0 && lines.length === 0) return [`the compiler exited with ${status}`]
  return lines.filter((line) => !isForeign(line))
}
