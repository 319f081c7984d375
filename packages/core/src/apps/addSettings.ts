/**
 * What a host says about an app. The page carries it in a `meta` element: no request more, and nothing flashes.
 */
import { gunzipSync, gzipSync } from "node:zlib"
import type { AppFile } from "./AppFile.ts"

const placeholder = 'content="{}"'

const escapeAttribute = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** The page with the settings in it, as JSON. Other files stay as they are. */
export const addSettings = (file: AppFile, settings: object): AppFile => {
  const text = JSON.stringify(settings)
  if (file.path !== "" || text === "{}") return file
  const page = gunzipSync(file.gzip).toString()
  // A function, because a text may contain `$&`.
  return { ...file, gzip: gzipSync(page.replace(placeholder, () => `content="${escapeAttribute(text)}"`)) }
}
