/**
 * Builds `tollgate`: its JavaScript, its types, and the licences of what is inside.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { onePackage } from "../publishedPackages.ts"
import { bundle, entries, writeLicences } from "./bundle.ts"
import { generateTypes, writeFiles } from "./generateTypes.ts"

const folder = join(onePackage.folder, "dist")
rmSync(folder, { recursive: true, force: true })
writeLicences(await bundle(entries, folder), join(folder, "LICENCES.txt"))
writeFiles(folder, generateTypes())
