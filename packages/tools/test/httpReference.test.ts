import { expect, it } from "@effect/vitest"
import { toAnchor } from "../../../docs/.vitepress/toAnchor.ts"
import { generateErrorsPage } from "../src/docs/errorsPage.ts"
import { generateHttpReference } from "../src/docs/httpReference.ts"

const page = generateHttpReference()

const getAnchors = (markdown: string): ReadonlyArray<string> =>
  [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => toAnchor(heading))

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
