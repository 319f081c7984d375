/**
 * Keeps the entry points small and explicit.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { publishedPackages } from "../src/publishedPackages.ts"

const core = publishedPackages.filter(({ manifest }) => manifest.name === "@tollgate/core")
const read = (source: string): string => readFileSync(source, "utf8")

/** The names in `export { a, type B }` and `export * as C`. */
const listExports = (text: string): ReadonlyArray<string> => [
  ...[...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.trim().replace(/^type /, ""))
  ),
  ...[...text.matchAll(/export \* as (\w+)/g)].map(([, name = ""]) => name)
]

describe("the entry points of @tollgate/core", () => {
  it.each(core.flatMap(({ sources }) => sources))("%s names each of its exports", (source) => {
    expect(read(source)).not.toMatch(/export \* from/)
  })

  it("exports at most 90 names from the first", () => {
    const names = listExports(read("packages/core/src/index.ts"))
    expect(names).toContain("createTollgate")
    expect(names.length).toBeLessThanOrEqual(90)
  })

  it("keeps internal names out of the other four", () => {
    const internal = listExports(read("packages/core/src/internal.ts"))
    const others = ["index", "client", "effect", "store"].flatMap((name) =>
      listExports(read(`packages/core/src/${name}.ts`))
    )
    expect(internal.filter((name) => others.includes(name))).toEqual([])
  })
})
