/**
 * Builds the browser code with Vite into a TypeScript module, so that the console needs no files at run time. A test fails
 * when the module does not match the sources.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import type { Console } from "@tollgate/core"
import { build, type InlineConfig, type Rolldown } from "vite"

const app = fileURLToPath(new URL("../app", import.meta.url))

export const generatedModule = new URL("../src/files.generated.ts", import.meta.url)

export interface BuiltFile {
  /** Below `/console/`; the page itself is the empty path. */
  readonly path: string
  readonly contentType: string
  /** Whether the name contains a hash of the content. */
  readonly isImmutable: boolean
  readonly content: string
}

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8"
}

const toBuiltFile = (file: Rolldown.OutputChunk | Rolldown.OutputAsset): BuiltFile => {
  const extension = file.fileName.split(".").at(-1) ?? ""
  const contentType = contentTypes[extension]
  if (contentType === undefined) throw new Error(`The console has no content type for ${file.fileName}`)
  const content = file.type === "chunk" ? file.code : file.source
  return {
    path: file.fileName === "index.html" ? "" : file.fileName,
    contentType,
    isImmutable: extension !== "html",
    content: typeof content === "string" ? content : new TextDecoder().decode(content)
  }
}

/** Builds with Vite. It reads NODE_ENV, which a test runner sets: the result must always be the same. */
const runVite = async (options: InlineConfig) => {
  const environment = process.env["NODE_ENV"]
  process.env["NODE_ENV"] = "production"
  try {
    return await build(options)
  } finally {
    if (environment === undefined) delete process.env["NODE_ENV"]
    else process.env["NODE_ENV"] = environment
  }
}

/** The files of the console, sorted by path. */
export const buildConsole = async (): Promise<ReadonlyArray<BuiltFile>> => {
  const result = await runVite({
    root: app,
    // Relative URLs, so that the console works below any prefix.
    base: "./",
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      target: ["es2022", "chrome123", "firefox120", "safari17.5"],
      modulePreload: false,
      // Everything is loaded as a file: the Content-Security-Policy allows nothing inline.
      assetsInlineLimit: 0,
      rolldownOptions: {
        output: {
          entryFileNames: "[name]-[hash].js",
          chunkFileNames: "[name]-[hash].js",
          assetFileNames: "[name]-[hash][extname]"
        }
      }
    }
  })
  if (!("output" in result)) throw new Error("Vite built nothing")
  return result.output.map(toBuiltFile).sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** As the option `console` of `createTollgate`. */
export const toConsole = (files: ReadonlyArray<BuiltFile>): Console => ({
  files: files.map(({ content, ...file }) => ({ ...file, gzip: gzipSync(content, { level: 9 }) }))
})

const toModule = (files: ReadonlyArray<BuiltFile>): string =>
  [
    "// Generated from packages/console/app: edit the sources, then run npm run build:console.",
    "export const files: ReadonlyArray<{",
    "  readonly path: string",
    "  readonly contentType: string",
    "  readonly isImmutable: boolean",
    "  readonly gzipBase64: string",
    "}> = [",
    ...files.map(({ content, ...file }) => {
      const gzipBase64 = gzipSync(content, { level: 9 }).toString("base64")
      return `  ${JSON.stringify({ ...file, gzipBase64 })},`
    }),
    "]",
    ""
  ].join("\n")

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(generatedModule, toModule(await buildConsole()))
}
