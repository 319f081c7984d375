/**
 * Keeps the entry points small and explicit.
 */
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { publishedPackages } from "../src/publishedPackages.ts"

const core = publishedPackages.filter(({ manifest }) => manifest.name === "@tollgate/core")
const read = (source: string): string => readFileSync(source, "utf8")

/** The names in `export { a, type B }`, `export * as C`, and in the files of `export * from`. */
const listExports = (file: string): ReadonlyArray<string> => {
  const text = read(file)
  return [
    ...[...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
      names.split(",").map((name) => name.trim().replace(/^type /, ""))
    ),
    ...[...text.matchAll(/^export \* as (\w+)/gm)].map(([, name = ""]) => name),
    ...[...text.matchAll(/^export (?:abstract )?(?:class|const|type|interface) (\w+)/gm)].map(([, name = ""]) => name),
    ...[...text.matchAll(/^export \* from "([^"]+)"/gm)].flatMap(([, path = ""]) =>
      listExports(join(dirname(file), path))
    )
  ]
}

describe("the entry points of @tollgate/core", () => {
  it.each(core.flatMap(({ sources }) => sources))(
    "%s names each of its exports, except errors and shared types",
    (source) => {
      expect(read(source).replace(/export \* from ".\/(allErrors|handleTypes).ts"/g, "")).not.toMatch(/export \* from/)
    }
  )

  it("exports nothing but errors from the files of errors", () => {
    const names = new Set(listExports("packages/core/src/allErrors.ts"))
    expect(names).toContain("ConsumerNotFound")
    expect([...names].filter((name) => !/^[A-Z]/.test(name))).toEqual(["isTollgateError"])
  })

  it("exports at most 74 names from the first, beside the errors", () => {
    const errors = new Set(listExports("packages/core/src/allErrors.ts"))
    const names = new Set(listExports("packages/core/src/index.ts").filter((name) => !errors.has(name)))
    expect(names).toContain("createTollgate")
    expect(names.size).toBeLessThanOrEqual(74)
  })

  it("keeps internal names out of the other three", () => {
    const internal = listExports("packages/core/src/internal.ts")
    const others = ["index", "client", "effect"].flatMap((name) => listExports(`packages/core/src/${name}.ts`))
    expect(internal.filter((name) => others.includes(name))).toEqual([])
  })
})
