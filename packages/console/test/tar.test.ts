/**
 * The archives that the console makes of folders, unpacked by another implementation.
 */
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { extract } from "tar"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { checkArchive, checkFolder, getFolderBytes } from "../app/pages/deployments/archive/limits.ts"
import { packFolder, writeTar } from "../app/pages/deployments/archive/packFolder.ts"
import type { Folder, FolderEntry } from "../app/pages/deployments/archive/Source.ts"

const scope = Scope.makeUnsafe()
let folder: string
let archives = 0

beforeAll(async () => {
  folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const toFile = (path: string, content: string | Uint8Array<ArrayBuffer>): FolderEntry => ({
  path,
  file: new File([content], path.split("/").at(-1) ?? "", { lastModified: Date.UTC(2026, 0, 2, 3, 4, 5) })
})

const toFolder = (entries: ReadonlyArray<FolderEntry>): Folder => ({
  kind: "folder",
  name: "site",
  entries,
  skipped: []
})

const pack = (entries: ReadonlyArray<FolderEntry>): Promise<Blob> =>
  packFolder(toFolder(entries), { signal: new AbortController().signal, onProgress: () => {} })

/** Packs the entries, and returns the folder into which `tar` has unpacked them. */
const packAndExtract = async (entries: ReadonlyArray<FolderEntry>): Promise<string> => {
  const target = join(folder, String(++archives))
  await mkdir(target)
  await writeFile(`${target}.tar.gz`, Buffer.from(await (await pack(entries)).arrayBuffer()))
  await extract({ file: `${target}.tar.gz`, cwd: target, strict: true })
  return target
}

describe("the archive of a folder", () => {
  it("has files with their content and time, in folders", async () => {
    const target = await packAndExtract([toFile("index.html", "<h1>Hello</h1>"), toFile("a/b/c.txt", "deep")])
    expect(await readFile(join(target, "index.html"), "utf8")).toBe("<h1>Hello</h1>")
    expect(await readFile(join(target, "a/b/c.txt"), "utf8")).toBe("deep")
    expect((await stat(join(target, "index.html"))).mtime.toISOString()).toBe("2026-01-02T03:04:05.000Z")
  })

  it("keeps names around and above 100 bytes, and long paths", async () => {
    const names = [99, 100, 101, 150, 250].map((length) => `${"n".repeat(length - 4)}.txt`)
    const deep = `${Array.from({ length: 20 }, (_, index) => `folder-number-${index}`).join("/")}/file.txt`
    const target = await packAndExtract([...names, deep].map((path) => toFile(path, path)))
    for (const path of [...names, deep]) expect(await readFile(join(target, path), "utf8")).toBe(path)
  })

  it("keeps names with other than ASCII characters", async () => {
    const paths = ["Grüße.txt", "日本語/ページ.html", `${"ü".repeat(60)}.txt`, "emoji 🎉.txt", "quote's & <b>.html"]
    const target = await packAndExtract(paths.map((path) => toFile(path, path)))
    for (const path of paths) expect(await readFile(join(target, path), "utf8")).toBe(path)
  })

  it("counts the length of an extended header's record with its own digits", async () => {
    // The record grows from 99 to 101 bytes, and from 999 to 1001, when its length gets another digit.
    for (let length = 101; length < 112; length++) {
      const path = `${"p".repeat(length - 5)}/f.js`
      const target = await packAndExtract([toFile(path, String(length))])
      expect(await readFile(join(target, path), "utf8")).toBe(String(length))
    }
    for (let length = 980; length < 992; length++) {
      const path = `${"folder-of-20-letters/".repeat(46)}${"f".repeat(length - 966)}`
      const target = await packAndExtract([toFile(path, String(length))])
      expect(await readFile(join(target, path), "utf8")).toBe(String(length))
    }
  })

  it("has empty files and empty folders", async () => {
    const target = await packAndExtract([toFile("empty.txt", ""), { path: "nothing/here", file: undefined }])
    expect((await stat(join(target, "empty.txt"))).size).toBe(0)
    expect((await stat(join(target, "nothing/here"))).isDirectory()).toBe(true)
    expect(await readdir(join(target, "nothing/here"))).toEqual([])
  })

  it("fills the last block of a file, whatever its size", async () => {
    const sizes = [1, 511, 512, 513, 70_000]
    const target = await packAndExtract(
      sizes.map((size) =>
        toFile(
          `${size}.bin`,
          Uint8Array.from({ length: size }, (_, index) => index % 251)
        )
      )
    )
    for (const size of sizes) {
      const content = await readFile(join(target, `${size}.bin`))
      expect(content.equals(Buffer.from(Uint8Array.from({ length: size }, (_, index) => index % 251)))).toBe(true)
    }
  })

  it("is packed in pieces, with progress, and stops when it is cancelled", async () => {
    const entries = Array.from({ length: 40 }, (_, index) => toFile(`${index}.bin`, new Uint8Array(200_000)))
    const controller = new AbortController()
    const progress: Array<number> = []
    const packing = packFolder(toFolder(entries), {
      signal: controller.signal,
      onProgress: (bytes) => {
        progress.push(bytes)
        if (bytes > 1_000_000) controller.abort()
      }
    })
    await expect(packing).rejects.toThrow()
    expect(progress.length).toBeGreaterThan(2)
    expect(progress.at(-1)).toBeLessThan(8_000_000)
  })

  it("is refused if a file has changed since it was chosen", async () => {
    const file = new File(["four"], "a.txt")
    Object.defineProperty(file, "size", { value: 5 })
    const read = async (): Promise<void> => {
      for await (const _ of writeTar([{ path: "a.txt", file }]));
    }
    await expect(read()).rejects.toThrow("a.txt has changed")
  })
})

describe("the limits of what is uploaded", () => {
  const withFiles = (count: number): Folder =>
    toFolder(Array.from({ length: count }, (_, index) => ({ path: `${index}`, file: undefined })))

  it("add up the sizes of all files", async () => {
    const files = Array.from({ length: 120 }, (_, index) => toFile(`${index}.txt`, "12345"))
    expect(await getFolderBytes(toFolder([...files, { path: "empty", file: undefined }]))).toBe(600)
  })

  it("tell of too many files, and of an archive that is too large", () => {
    expect(checkFolder(withFiles(20_000), 500 * 1024 * 1024)).toBeUndefined()
    expect(checkFolder(withFiles(20_001), 0)).toContain("site has 20,001 files")
    expect(checkFolder(withFiles(1), 500 * 1024 * 1024 + 1)).toContain("servers accept 500 MiB")
    expect(checkArchive("site", 100 * 1024 * 1024)).toBeUndefined()
    expect(checkArchive("site", 100 * 1024 * 1024 + 1)).toContain("servers accept 100 MiB")
  })
})
