/**
 * A small console, for tests of how consoles are served.
 */
import { gzipSync } from "node:zlib"
import type { Console } from "../../src/Console.ts"

export const page = "<!doctype html><title>Console</title>"
export const script = "document.title = 'Ready'"
export const scriptPath = "assets/app-0a1b2c3d.js"

export const testConsole: Console = {
  files: [
    { path: "", contentType: "text/html; charset=utf-8", isImmutable: false, gzip: gzipSync(page) },
    { path: scriptPath, contentType: "text/javascript; charset=utf-8", isImmutable: true, gzip: gzipSync(script) },
    { path: "icon.svg", contentType: "image/svg+xml", isImmutable: false, gzip: gzipSync("<svg/>") }
  ]
}

/** The code of a link. */
export const getCode = (url: string): string => /#code=(\w+)$/.exec(url)?.[1] ?? ""
