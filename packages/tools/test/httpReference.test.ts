import { readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { toAnchor } from "../../../docs/.vitepress/toAnchor.ts"
import { openGate } from "../src/docs/allModules.ts"
import { generateErrorsPage } from "../src/docs/errorsPage.ts"
import { generateHttpReference } from "../src/docs/httpReference.ts"
import { operations } from "../src/docs/openApiDocument.ts"

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
    "errors.md": getAnchors(generateErrorsPage()),
    "../guides/authentication.md": getAnchors(readFileSync("docs/guides/authentication.md", "utf8"))
  }
  const links = [...page.matchAll(/\]\(([^)#]*)#([^)]*)\)/g)]
  expect(links.length).toBeGreaterThan(200)
  expect(
    links.filter(([, target = "", anchor = ""]) => anchors[target]?.includes(anchor) !== true).map(([link]) => link)
  ).toEqual([])
})

it("calls methods that handles have", async () => {
  const gate = await openGate()
  const calls = [...page.matchAll(/^```typescript \[TypeScript\]\nawait (.*)\n/gm)].map(([, call = ""]) => call)
  expect(calls.length).toBeGreaterThan(100)
  const missing = calls.filter((call) => {
    // Up to the parameters of the method.
    const method = call.replace(/\((?:(?!\)\.).)*\)$/, "").replace("(customerKey)", '("alice")')
    // Only a client has this one.
    return method !== "gate.me" && new Function("gate", `return typeof ${method}`)(gate) !== "function"
  })
  await gate.close()
  expect(missing).toEqual([])
})

it("shows curl beside every operation", () => {
  expect(page.match(/^```sh \[curl\]\ncurl .*"\$URL\/.*"\n```$/gm)).toHaveLength(operations.length)
})
