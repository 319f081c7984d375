/**
 * Compares docs/reference/api with the sources. If it fails, run `npm run build:docs`.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { apiReferenceFolder, generateApiReference } from "../src/buildApiReference.ts"

it("docs/reference/api matches the types and comments of the sources", { timeout: 120_000 }, () => {
  const pages = generateApiReference()
  expect(readdirSync(apiReferenceFolder).sort()).toEqual([...pages.keys()].sort())
  for (const [name, text] of pages) expect(readFileSync(join(apiReferenceFolder, name), "utf8")).toBe(text)
})
