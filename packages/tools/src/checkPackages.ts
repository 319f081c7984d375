/**
 * Checks every package as npm would publish it: its exports exist, its types resolve, the built packages can deploy a
 * site, and an application can install and use them.
 */
import { checkInstalledPackages } from "./checkInstalledPackages.ts"
import { publishedPackages } from "./publishedPackages.ts"
import { runCheck } from "./runCheck.ts"

for (const { folder, manifest } of publishedPackages) {
  runCheck(`publint ${manifest.name}`, "publint", ["--strict", folder])
  const options = ["--pack", "--profile", "esm-only", "--format", "ascii", "--quiet"]
  runCheck(`attw ${manifest.name}`, "attw", [...options, folder])
}
runCheck("deployment with the built packages", process.execPath, ["packages/tools/src/tryBuiltSites.ts"])
checkInstalledPackages()
