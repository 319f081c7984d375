/**
 * Checks what npm shows of each published package, and that its README installs what it needs.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { type Manifest, onePackage, publishedPackages } from "../src/publishedPackages.ts"
import { listInstalled, listPacked, readInstallLines, readSnippets } from "../src/readme.ts"

const all = [...publishedPackages, onePackage]
const manifests = new Map(all.map(({ manifest }) => [manifest.name, manifest]))
const isOurs = (name: string): boolean => name.startsWith("@tollgate/")

const listRanges = ({ dependencies, peerDependencies }: Manifest): ReadonlyArray<readonly [string, string]> =>
  Object.entries({ ...dependencies, ...peerDependencies })

/** The packages of this workspace that these need, themselves included. */
const listNeeded = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const needed = new Set(names)
  for (const name of needed) {
    const manifest = manifests.get(name)
    if (manifest === undefined) throw new Error(`${name} is not published`)
    for (const [dependency] of listRanges(manifest)) if (isOurs(dependency)) needed.add(dependency)
  }
  return [...needed].sort()
}

/** The packages of others that an application has to install with these. */
const listRequiredPeers = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const peers = names.flatMap((name) => {
    const { peerDependencies = {}, peerDependenciesMeta = {} } = manifests.get(name) ?? {}
    return Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
  })
  return [...new Set(peers.filter((name) => !isOurs(name)))].sort()
}

const listImports = (path: string): ReadonlyArray<string> =>
  [
    ...readSnippets(path)
      .join("\n")
      .matchAll(/from "(@[^/"]+\/[^/"]+|[^/"@]+)/g)
  ]
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("node:"))

it("finds the published packages", () => {
  expect(manifests.size).toBeGreaterThanOrEqual(13)
})

describe.each(all)("$manifest.name", ({ folder, manifest }) => {
  it("says what it is, for search and for package managers", () => {
    expect(manifest.description?.length).toBeGreaterThan(20)
    expect(manifest.keywords?.length).toBeGreaterThanOrEqual(4)
    expect([...(manifest.keywords ?? [])].sort()).toEqual(manifest.keywords)
    expect(manifest).toMatchObject({
      version: manifests.get("@tollgate/core")?.version,
      license: "MIT",
      sideEffects: false,
      engines: { node: ">=22.19" },
      publishConfig: { access: "public", provenance: true }
    })
  })

  it("contains its build, its sources, a README and the licence", () => {
    expect(manifest.files).toEqual(["dist", "src", "!dist/.tsbuildinfo"])
    expect(readFileSync(join(folder, "LICENSE"), "utf8")).toBe(readFileSync("LICENSE", "utf8"))
    expect(readFileSync(join(folder, "README.md"), "utf8")).toMatch(new RegExp(`^# ${manifest.name}\n`))
    expect(existsSync(join(folder, "src/index.ts"))).toBe(true)
  })

  it("depends on published packages, in ranges that exclude the next breaking version", () => {
    for (const [name, range] of listRanges(manifest)) {
      expect(range).toMatch(/^[\^~]?\d+\.\d+\.\d+/)
      if (!isOurs(name)) continue
      expect(manifests.has(name)).toBe(true)
      expect(range).toBe(`^${manifest.version}`)
    }
  })

  it("has a README that packs and installs exactly what the package and its snippets need", () => {
    const readme = join(folder, "README.md")
    const lines = readInstallLines(readme)
    const imports = listImports(readme)
    const needed = listNeeded([manifest.name, ...imports.filter(isOurs)])
    expect(listPacked(lines)).toEqual(needed)
    const optional = Object.keys(manifest.peerDependenciesMeta ?? {})
    const installed = listInstalled(lines)
    expect(installed.filter((name) => !optional.includes(name)).sort()).toEqual(listRequiredPeers(needed))
    const others = imports.filter((name) => !isOurs(name) && name !== manifest.name)
    expect(others.filter((name) => !installed.includes(name))).toEqual([])
  })
})

it("README.md packs and installs at least what its snippet needs", () => {
  const lines = readInstallLines("README.md")
  const imports = listImports("README.md")
  const needed = listNeeded(imports.filter(isOurs))
  expect(listPacked(lines)).toEqual(expect.arrayContaining([...needed]))
  expect(listInstalled(lines)).toEqual(expect.arrayContaining([...listRequiredPeers(needed)]))
})
