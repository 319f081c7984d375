import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { checkNodeVersion } from "@tollgate/store/internal"

/** A Node on the PATH that is too old for Tollgate. npm puts a newer one before it. */
export const findOldNode = (): { readonly path: string; readonly version: string } | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .filter((path) => existsSync(path))
    .map((path) => ({
      path,
      version: execFileSync(path, ["--print", "process.versions.node"], { encoding: "utf8" }).trim()
    }))
    .find(({ version }) => checkNodeVersion(version) !== undefined)
