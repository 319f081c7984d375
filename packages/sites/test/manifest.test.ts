import { describe, expect, it } from "vitest"
import {
  decodeJsonManifest,
  decodeManifest,
  encodeManifest,
  entryFile,
  findFile,
  type ServedFile
} from "../src/manifest.ts"
import { makeManifestCache } from "../src/manifestCache.ts"

const fileOf = (size: number): ServedFile => ({ size, digest: `digest-${size}` })

const manifestOf = (...paths: ReadonlyArray<string>) =>
  decodeManifest(
    encodeManifest(
      "content",
      paths.map((path, size) => [path, fileOf(size)])
    )
  )

describe("a manifest", () => {
  it("that an earlier release wrote as JSON is read as well", () => {
    const files = { "index.html": fileOf(1), "a/b.txt": fileOf(2) }
    const manifest = decodeJsonManifest(JSON.stringify({ root: "content/dist", files }))
    expect(manifest.root).toBe("content/dist")
    expect([findFile(manifest, "a/b.txt"), findFile(manifest, "a/c.txt")]).toEqual([fileOf(2), undefined])
  })

  it("finds every file by its exact path, and nothing else", () => {
    const odd = [
      "",
      '"',
      "\\",
      "a\nb",
      "a\tb",
      "ü",
      "𝒳",
      "__proto__",
      "constructor",
      "index.html",
      "a/b",
      "a b",
      "\u2028"
    ]
    const paths = [...odd, ...Array.from({ length: 2000 }, (_, index) => `dir-${index % 37}/file-${index}`)]
    const manifest = manifestOf(...paths)
    expect(manifest.root).toBe("content")
    for (const [size, path] of paths.entries()) expect(findFile(manifest, path), path).toEqual(fileOf(size))
    for (const path of ["a", "b", "dir-1", "dir-1/", "dir-1/file-", "dir-0/file-1", "toString", "\t", "\n", "zzz"]) {
      expect(findFile(manifest, path), path).toBeUndefined()
    }
  })

  it("of nothing finds nothing", () => {
    expect(findFile(manifestOf(), "index.html")).toBeUndefined()
    expect(entryFile(manifestOf())).toBeUndefined()
  })

  it("names the file that is requested first", () => {
    expect(entryFile(manifestOf("b", "index.html", "a"))).toBe("index.html")
    expect(entryFile(manifestOf("b/index.html", "b.txt", "c"))).toBe("b.txt")
  })
})

describe("the cache of manifests", () => {
  const large = (name: string) => manifestOf(...Array.from({ length: 1000 }, (_, index) => `${name}/${index}`))
  const size = large("x").lines.length

  const cacheOf = (maxBytes: number) => {
    const loaded: Array<string> = []
    const cache = makeManifestCache(async (id) => {
      loaded.push(id)
      if (id === "missing") throw new Error("ENOENT")
      return large(id)
    }, maxBytes)
    return { cache, loaded }
  }

  it("keeps as many bytes as it may, those that were used last", async () => {
    const { cache, loaded } = cacheOf(2 * (size + 1024))
    for (const id of ["a", "b", "a", "c", "a", "b"]) await cache.get(id)
    expect(loaded).toEqual(["a", "b", "c", "b"])
  })

  it("keeps none that is larger than all it may keep", async () => {
    const { cache, loaded } = cacheOf(size)
    for (const id of ["a", "a"]) expect(findFile(await cache.get(id), "a/1")).toEqual(fileOf(1))
    expect(loaded).toEqual(["a", "a"])
  })

  it("reads a manifest once for all who request it at the same time", async () => {
    const { cache, loaded } = cacheOf(10 * size)
    await Promise.all(Array.from({ length: 50 }, () => cache.get("a")))
    expect(loaded).toEqual(["a"])
  })

  it("reads few manifests at the same time", async () => {
    let [running, most] = [0, 0]
    const cache = makeManifestCache(async (id) => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return manifestOf(id)
    })
    const ids = Array.from({ length: 40 }, (_, index) => `release-${index}`)
    const found = await Promise.all(ids.map((id) => cache.get(id)))
    expect(found.map(entryFile)).toEqual(ids)
    expect(most).toBe(4)
  })

  it("forgets a release that is removed while its manifest is read, and one that cannot be read", async () => {
    const { cache, loaded } = cacheOf(10 * size)
    const first = cache.get("a")
    cache.delete("a")
    await first
    await cache.get("a")
    cache.delete("a")
    await cache.get("a")
    for (const _ of [1, 2]) await expect(cache.get("missing")).rejects.toThrow("ENOENT")
    expect(loaded).toEqual(["a", "a", "a", "missing", "missing"])
  })
})
