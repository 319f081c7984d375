/**
 * Finds programs on the PATH and installs Debian packages.
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

/** Installs a package with apt-get if the process runs as root. Does nothing otherwise. */
export const installPackage = (name: string): void => {
  if (process.getuid?.() !== 0 || findOnPath("apt-get") === undefined) return
  console.log(`${name} is not installed: installing the Debian package for the tests`)
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  for (const step of [["update"], ["install", "--yes", "--no-install-recommends", name]]) {
    execFileSync("apt-get", step, { env: environment, stdio: ["ignore", "ignore", "inherit"] })
  }
}
