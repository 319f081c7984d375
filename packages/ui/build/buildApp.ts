/**
 * Builds the browser code of an app with Vite into a TypeScript module, so that its package needs no files at run time. A
 * test fails when the module does not match the sources.
 */
import { gzipSync } from "node:zlib"
import type { AppFile } from "@tollgate/core/module"
import { build, type InlineConfig, type Rolldown } from "vite"

export interface BuiltFile {
  /** Below the address of the app; the page itself is the empty path. */
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
  if (contentType === undefined) throw new Error(`There is no content type for ${file.fileName}`)
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

/** The files of the app in a folder, sorted by path. */
export const buildApp = async (folder: string): Promise<ReadonlyArray<BuiltFile>> => {
  const result = await runVite({
    root: folder,
    // Relative URLs, so that the app works below any prefix.
    base: "./",
    configFile: false,
    logLevel: "error",
    // Code that the server has too is taken from its sources.
    resolve: { conditions: ["@tollgate/source", "module", "browser"] },
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

/** As the modules that serve an app take them. */
export const toAppFiles = (files: ReadonlyArray<BuiltFile>): ReadonlyArray<AppFile> =>
  files.map(({ content, ...file }) => ({ ...file, gzip: gzipSync(content, { level: 9 }) }))

/** The source of a TypeScript module with the files. `source` says what it was made from, and `command` by what. */
export const toModule = (files: ReadonlyArray<BuiltFile>, source: string, command: string): string =>
  [
    `// Generated from ${source}: edit the sources, then run ${command}.`,
    "export const files: ReadonlyArray<{",
    "  readonly path: string",
    "  readonly contentType: string",
    "  readonly isImmutable: boolean",
    "  readonly gzipBase64: string",
    "}> = [",
    ...toAppFiles(files).map(
      ({ gzip, ...file }) => `  ${JSON.stringify({ ...file, gzipBase64: Buffer.from(gzip).toString("base64") })},`
    ),
    "]",
    ""
  ].join("\n")
