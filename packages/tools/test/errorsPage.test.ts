import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { documentedErrors } from "../src/docs/errorClasses.ts"

it("documents every declared error class", () => {
  const packages = join(import.meta.dirname, "../..")
  const declared = readdirSync(packages).flatMap((name) =>
    readdirSync(join(packages, name), { recursive: true, encoding: "utf8" })
      .filter((path) => /^src\/.*\.ts$/.test(path))
      .flatMap((path) => [
        ...readFileSync(join(packages, name, path), "utf8").matchAll(/class (\w+) extends defineError</g)
      ])
      .map(([, className]) => className)
  )
  expect(declared.length).toBeGreaterThan(50)
  expect(documentedErrors.map(({ name }) => name).sort()).toEqual(declared.sort())
})

it("documents errors in whole sentences", () => {
  const incomplete = documentedErrors.filter(({ meaning, remedy }) =>
    [meaning, remedy].some((text) => !/^[A-Z].*\.$/.test(text))
  )
  expect(incomplete.map(({ name }) => name)).toEqual([])
})
