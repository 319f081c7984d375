import { describe, expect, it } from "vitest"
import { decodeManifest, encodeManifest, findEntryFile, findFile, type ServedFile } from "../src/manifest.ts"
import { makeManifestCache } from "../src/manifestCache.ts"

const makeFile = (size: number): ServedFile => ({ size, digest: `digest-${size}` })

const makeManifest = (...paths: ReadonlyArray<string>) =>
  decodeManifest(encodeManifest(paths.map((path, size) => [path, makeFile(size)])))

describe("a manifest", () => {
  it("finds files by exact path only", () => {
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
    const manifest = makeManifest(...paths)
    for (const [size, path] of paths.entries()) expect(findFile(manifest, path), path).toEqual(makeFile(size))
    for (const path of ["a", "b", "dir-1", "dir-1/", "dir-1/file-", "dir-0/file-1", "toString", "\t", "\n", "zzz"]) {
      expect(findFile(manifest, path), path).toBeUndefined()
    }
  })

  it("finds nothing when it is empty", () => {
    expect(findFile(makeManifest(), "index.html")).toBeUndefined()
    expect(findEntryFile(makeManifest())).toBeUndefined()
  })

  it("finds the entry file", () => {
    expect(findEntryFile(makeManifest("b", "index.html", "a"))).toBe("index.html")
    expect(findEntryFile(makeManifest("b/index.html", "b.txt", "c"))).toBe("b.txt")
  })
})

describe("the manifest cache", () => {
  const large = (name: string) => makeManifest(...Array.from({ length: 1000 }, (_, index) => `${name}/${index}`))
  const size = large("x").lines.length

  const makeCache = (maxBytes: number) => {
    const loaded: Array<string> = []
    const cache = makeManifestCache(async (id) => {
      loaded.push(id)
      if (id === "missing") throw new Error("ENOENT")
      return large(id)
    }, maxBytes)
    return { cache, loaded }
  }

  it("evicts the least recently used manifests beyond its byte limit", async () => {
    const { cache, loaded } = makeCache(2 * (size + 1024))
    for (const id of ["a", "b", "a", "c", "a", "b"]) await cache.get(id)
    expect(loaded).toEqual(["a", "b", "c", "b"])
  })

  it("does not cache a manifest larger than its byte limit", async () => {
    const { cache, loaded } = makeCache(size)
    for (const id of ["a", "a"]) expect(findFile(await cache.get(id), "a/1")).toEqual(makeFile(1))
    expect(loaded).toEqual(["a", "a"])
  })

  it("loads a manifest once for concurrent requests", async () => {
    const { cache, loaded } = makeCache(10 * size)
    await Promise.all(Array.from({ length: 50 }, () => cache.get("a")))
    expect(loaded).toEqual(["a"])
  })

  it("loads at most four manifests concurrently", async () => {
    let [running, maxRunning] = [0, 0]
    const cache = makeManifestCache(async (id) => {
      maxRunning = Math.max(maxRunning, ++running)
      await new Promise(setImmediate)
      running--
      return makeManifest(id)
    })
    const ids = Array.from({ length: 40 }, (_, index) => `release-${index}`)
    const manifests = await Promise.all(ids.map((id) => cache.get(id)))
    expect(manifests.map(findEntryFile)).toEqual(ids)
    expect(maxRunning).toBe(4)
  })

  it("does not cache a manifest that is deleted while it loads, or fails to load", async () => {
    const { cache, loaded } = makeCache(10 * size)
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
