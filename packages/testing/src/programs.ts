/**
 * Programs that tests run: found on the PATH, or installed from Debian's packages where the tests may.
 */
import { execFileSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

export const findOnPath = (program: string): string | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** Installs a package as root with apt-get; does nothing elsewhere. */
export const installPackage = (name: string): void => {
  if (process.getuid?.() !== 0 || findOnPath("apt-get") === undefined) return
  console.log(`${name} is not installed; installing Debian's package of that name for the tests`)
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  for (const step of [["update"], ["install", "--yes", "--no-install-recommends", name]]) {
    execFileSync("apt-get", step, { env: environment, stdio: ["ignore", "ignore", "inherit"] })
  }
}
