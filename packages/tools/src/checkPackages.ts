/**
 * Checks every package as npm would publish it: its exports exist, its types resolve, the built packages can deploy a
 * site, an application can install and use them, and the READMEs can be followed. `--all-readmes` follows that of every
 * package, and not only the first two.
 */
import { join } from "node:path"
import { checkInstalledPackages } from "./checkInstalledPackages.ts"
import { checkReadme } from "./checkReadme.ts"
import { onePackage, publishedPackages } from "./publishedPackages.ts"
import { runCheck } from "./runCheck.ts"

for (const { folder, manifest } of [...publishedPackages, onePackage]) {
  runCheck(`publint ${manifest.name}`, "publint", ["--strict", folder])
  const options = ["--pack", "--profile", "esm-only", "--format", "ascii", "--quiet"]
  runCheck(`attw ${manifest.name}`, "attw", [...options, folder])
}
runCheck("deployment with the built packages", process.execPath, ["packages/tools/src/tryBuiltSites.ts"])
checkInstalledPackages()

const readmes = process.argv.includes("--all-readmes")
  ? publishedPackages.map(({ folder }) => join(folder, "README.md"))
  : ["packages/express/README.md"]
for (const path of ["README.md", ...readmes]) checkReadme(path)
