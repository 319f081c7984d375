/**
 * Bundles the sources of the documentation page into a TypeScript module of strings, so that it needs no files at run
 * time. A test fails when the module does not match the sources.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const source = new URL("../../console/docs-page/", import.meta.url)

export const generatedModule = new URL("../../console/src/docsPage.generated.ts", import.meta.url)

const bundle = async (file: string): Promise<string> => {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(source),
    entryPoints: [file],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8"
  })
  return (outputFiles[0]?.text ?? "").trim()
}

export const generateDocsPage = async (): Promise<string> => {
  const [script, style] = await Promise.all([bundle("main.ts"), bundle("page.css")])
  const markup = readFileSync(new URL("page.html", source), "utf8").trim()
  return [
    "// Generated from packages/console/docs-page by packages/tools: edit the sources, then run npm run build:docs.",
    ...Object.entries({ markup, style, script }).map(
      ([name, content]) => `export const ${name} = ${JSON.stringify(content)}`
    ),
    ""
  ].join("\n")
}
