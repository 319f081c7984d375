/** Builds the page into a TypeScript module of its package. */
import { writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type BuiltFile, buildApp, toModule } from "../../ui/build/buildApp.ts"

export const generatedModule = new URL("../src/files.generated.ts", import.meta.url)

export const buildPortal = (): Promise<ReadonlyArray<BuiltFile>> =>
  buildApp(fileURLToPath(new URL("../app", import.meta.url)))

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(generatedModule, toModule(await buildPortal(), "packages/portal/app", "npm run build:portal"))
}
