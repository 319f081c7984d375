import { readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { generateErrorsPage } from "../src/buildErrorsPage.ts"
import { generateHttpReference, httpReferencePage } from "../src/buildHttpReference.ts"
import { toAnchor } from "../src/markdown.ts"

const page = generateHttpReference()

const getAnchors = (markdown: string): ReadonlyArray<string> =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => toAnchor(heading))

it("docs/reference/http-operations.md matches the declared API", () => {
  expect(readFileSync(httpReferencePage, "utf8")).toBe(page)
})

it("has each heading once, so that links lead to the right one", () => {
  const anchors = getAnchors(page)
  expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([])
})

it("links only to schemas and errors that are documented", () => {
  const anchors: Readonly<Record<string, ReadonlyArray<string>>> = {
    "": getAnchors(page),
    "errors.md": getAnchors(generateErrorsPage())
  }
  const links = [...page.matchAll(/\]\(([^)#]*)#([^)]*)\)/g)]
  expect(links.length).toBeGreaterThan(200)
  expect(
    links.filter(([, target = "", anchor = ""]) => anchors[target]?.includes(anchor) !== true).map(([link]) => link)
  ).toEqual([])
})
