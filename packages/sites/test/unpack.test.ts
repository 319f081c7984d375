import { execFileSync } from "node:child_process"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { Effect, Stream } from "effect"
import { create } from "tar"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { defaultLimits, ReleaseRejectedError, type UnpackLimits } from "../src/limits.ts"
import { ReleaseWorkers } from "../src/ReleaseWorkers.ts"
import { unpack } from "../src/unpack.ts"
import { type Entry, makeArchive, makeEntry, makePageArchive, makePaxRecord, makeTar } from "./archives.ts"

let parent: string
let folder: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "tollgate-"))
  folder = join(parent, "content")
  mkdirSync(folder)
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

const emptyFolder = () => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
}

const inChunks = (bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> => ({
  async *[Symbol.asyncIterator]() {
    for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size)
  }
})

const run = (archive: Uint8Array, limits: Partial<UnpackLimits> = {}, size = 1000) =>
  unpack(inChunks(archive, size), folder, { ...defaultLimits, ...limits }, archive.length)

const runInWorker = (
  source: AsyncIterable<Uint8Array>,
  limits: Partial<UnpackLimits> = {},
  signal = new AbortController().signal
) => new ReleaseWorkers({ ...defaultLimits, ...limits }).unpack(source, folder, signal)

const file = (name: string): Entry => ({ name, content: "x" })

describe("unpack", () => {
  it("unpacks files and folders from chunks of any size", async () => {
    const large = Buffer.alloc(300_000, "0123456789")
    const archive = makeArchive(
      { name: "./", type: "5" },
      { name: "./index.html", content: "<h1>hello</h1>" },
      { name: "./empty", type: "5" },
      { name: "./deep/er/large.bin", content: large },
      { name: "./nothing.txt" },
      { name: "./run.sh", content: "#!/bin/sh", mode: 0o4777 }
    )
    for (const size of [1, 511, 512, 513, 65_536]) {
      emptyFolder()
      expect(await run(archive, {}, size)).toMatchObject({ files: 4, bytes: 14 + 300_000 + 9 })
      expect(readFileSync(join(folder, "index.html"), "utf8")).toBe("<h1>hello</h1>")
      expect(readFileSync(join(folder, "deep/er/large.bin")).equals(large)).toBe(true)
      expect(statSync(join(folder, "nothing.txt")).size).toBe(0)
      expect(statSync(join(folder, "run.sh")).mode & 0o7777).toBe(0o755)
      expect(readdirSync(join(folder, "empty"))).toEqual([])
    }
  })

  it.each(["v7", "oldgnu", "gnu", "ustar", "pax"])("unpacks archives of tar --format=%s", async (format) => {
    const source = join(parent, "source")
    const long = `${"d".repeat(40)}/${"e".repeat(40)}/${"f".repeat(30)}`
    const deep = format === "v7" ? "deep" : long
    mkdirSync(join(source, deep), { recursive: true })
    writeFileSync(join(source, "index.html"), "hello")
    writeFileSync(join(source, deep, "ü.txt"), "deep")
    const archive = execFileSync("tar", [`--format=${format}`, "-czf", "-", "-C", source, "."])
    expect(await run(archive)).toMatchObject({ files: 2, bytes: 9 })
    expect(readFileSync(join(folder, deep, "ü.txt"), "utf8")).toBe("deep")
  })

  it("unpacks archives of the tar library", async () => {
    const source = join(parent, "source")
    mkdirSync(source)
    writeFileSync(join(source, "index.html"), "hello")
    for (const options of [{}, { portable: true }, { noPax: true }]) {
      emptyFolder()
      const archive = create({ gzip: true, cwd: source, ...options }, ["."])
      expect(await run((await archive.concat()) as Buffer)).toMatchObject({ files: 1, bytes: 5 })
    }
  })

  it("unpacks long names in PAX and GNU headers", async () => {
    const [one, other] = [`${"a".repeat(150)}.txt`, `${"b".repeat(150)}.txt`]
    await run(
      makeArchive(
        { name: "PaxHeader", type: "x", content: makePaxRecord("path", one) },
        file("short"),
        { name: "././@LongLink", type: "L", content: `${other}\0` },
        file("short")
      )
    )
    expect(readdirSync(folder).sort()).toEqual([one, other])
  })

  it("unpacks archives with the extensions of git archive, macOS and npm pack", async () => {
    const archive = makeArchive(
      { name: "pax_global_header", type: "g", content: makePaxRecord("comment", "0123456789abcdef") },
      {
        name: "PaxHeader/a",
        type: "x",
        content: makePaxRecord("SCHILY.xattr.com.apple.x", "\0binary\0") + makePaxRecord("uid", "501")
      },
      file("package/a"),
      {
        name: "PaxHeader/ü",
        type: "x",
        content: makePaxRecord("LIBARCHIVE.creationtime", "1") + makePaxRecord("hdrcharset", "BINARY")
      },
      file("package/ü"),
      { name: "package/._a", content: "x" },
      { name: "package/contiguous", type: "7", content: "x" },
      { name: "package/old", type: "\0", content: "x" },
      { name: "package/folder/", type: "0" },
      { name: "file", prefix: "p".repeat(155), content: "x" }
    )
    expect(await run(archive)).toMatchObject({ files: 6, bytes: 6 })
    expect(readdirSync(join(folder, "package")).sort()).toEqual(["._a", "a", "contiguous", "folder", "old", "ü"])
    expect(readdirSync(join(folder, "p".repeat(155)))).toEqual(["file"])
  })

  it("accepts several gzip members, zeros after the end, and a missing end", async () => {
    const tar = makeTar(file("a"))
    for (const archive of [
      Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]),
      Buffer.concat([gzipSync(tar), Buffer.alloc(100_000)]),
      gzipSync(Buffer.concat([tar, Buffer.alloc(1_000_000)])),
      gzipSync(makeEntry(file("a")))
    ]) {
      for (const size of [100, 1000, 1_000_000]) {
        emptyFolder()
        expect(await run(archive, {}, size)).toMatchObject({ files: 1, bytes: 1 })
      }
    }
  })

  it("replaces links to files of the archive with copies, also through other links", async () => {
    const archive = makeArchive(
      { name: "early", type: "2", link: "a/real.txt" },
      { name: "a/real.txt", content: "real" },
      { name: "a/b/up", type: "2", link: "../real.txt" },
      { name: "hard", type: "1", link: "a/real.txt" },
      { name: "chain", type: "2", link: "a/b/up" }
    )
    expect(await run(archive)).toMatchObject({ files: 5, bytes: 20 })
    for (const name of ["early", "a/b/up", "hard", "chain"]) {
      expect(lstatSync(join(folder, name)).isFile()).toBe(true)
      expect(readFileSync(join(folder, name), "utf8")).toBe("real")
    }
    const large = { name: "large", content: Buffer.alloc(6000) }
    const copies = makeArchive(large, { name: "copy", type: "2", link: "large" })
    await expect(run(copies, { bytes: 10_000 })).rejects.toThrow(
      /"copy" exceeds the limit of 10000 bytes for all files/
    )
  })

  it("unpacks a file that tar lists twice", async () => {
    const source = join(parent, "source")
    mkdirSync(source)
    writeFileSync(join(source, "a"), "once")
    execFileSync("ln", ["a", "b"], { cwd: source })
    const archive = execFileSync("tar", ["-czf", "-", "-C", source, "a", "a", "b"])
    expect(await run(archive)).toMatchObject({ files: 2, bytes: 8 })
    expect(readFileSync(join(folder, "b"), "utf8")).toBe("once")
  })

  it("keeps the last of several entries with the same name", async () => {
    await run(makeArchive({ name: "a", content: "longer than that" }, { name: "a", content: "short" }))
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("short")
  })

  it("rejects an archive that is truncated at any byte", async () => {
    const archive = makePageArchive("x".repeat(5000), { name: "b", content: Buffer.alloc(5000, "abcdefg") })
    for (let length = 0; length < archive.length; length++) {
      await expect(run(archive.subarray(0, length)), `${length} bytes`).rejects.toBeInstanceOf(ReleaseRejectedError)
    }
    const tar = makeTar(file("a"), { name: "b", content: "x".repeat(2000) })
    await expect(run(gzipSync(tar.subarray(0, 2000)))).rejects.toThrow(/damaged or truncated/)
  })

  it("rejects a bomb from its header, before it writes anything", async () => {
    const bomb = makeArchive(file("index.html"), { name: "bomb", content: Buffer.alloc(20_000_000) })
    await expect(run(bomb, { bytes: 10_000_000 })).rejects.toThrow(
      /"bomb" exceeds the limit of 10000000 bytes for all files/
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it("rejects a source that is more than 100 times as large as its archive, above 10 MiB", async () => {
    const MiB = 1024 * 1024
    const zeros = (bytes: number) => makeArchive({ name: "zeros", content: Buffer.alloc(bytes) })
    expect(await run(zeros(10 * MiB))).toMatchObject({ files: 1, diskBytes: 10 * MiB })
    emptyFolder()
    const bomb = zeros(11 * MiB)
    const ratio = Math.floor((11 * MiB) / bomb.length)
    await expect(run(bomb)).rejects.toThrow(
      `"zeros" makes the source more than 100 times as large as its archive of ${bomb.length} bytes`
    )
    await expect(run(bomb, { unpackRatio: ratio })).rejects.toBeInstanceOf(ReleaseRejectedError)
    expect(readdirSync(folder)).toEqual([])
    expect(await run(bomb, { unpackRatio: ratio + 1 })).toMatchObject({ diskBytes: 11 * MiB })
  })

  it("counts each file and folder as at least one disk block", async () => {
    const small = makeArchive(...Array.from({ length: 10 }, (_, index) => file(`d${index}/f`)))
    await expect(run(small, { bytes: 20 * 4096 - 1 })).rejects.toThrow(/"d9\/f" exceeds the limit of 81919 bytes/)
    emptyFolder()
    expect(await run(small, { bytes: 20 * 4096 })).toMatchObject({ files: 10, bytes: 10 })
  })

  it("counts implied parent folders", async () => {
    const deep = makeArchive(file("a/b/c/d/e"), file("a/b/c/d/f"))
    await expect(run(deep, { entries: 5 })).rejects.toThrow(/"a\/b\/c\/d\/f" exceeds the limit of 5 entries/)
    emptyFolder()
    expect(await run(deep, { entries: 6 })).toMatchObject({ files: 2 })
    emptyFolder()
    await expect(run(deep, { depth: 3 })).rejects.toThrow(/"a\/b\/c\/d\/e" is more than 3 folders deep/)
    expect(readdirSync(folder)).toEqual([])
  })

  it("unpacks 19,999 files with names of 50 characters, each with a PAX header", async () => {
    const name = (index: number) => `assets/${String(index).padStart(38, "x")}.html`
    const entries = Array.from({ length: 19_999 }, (_, index) => [
      makeEntry({
        name: "pax",
        type: "x",
        content: makePaxRecord("mtime", "1700000000.123456789") + makePaxRecord("path", name(index))
      }),
      makeEntry({ name: "short" })
    ])
    const archive = gzipSync(Buffer.concat([...entries.flat(), Buffer.alloc(1024)]), { level: 1 })
    // A busy machine takes more than the default of a minute.
    const unpacked = await runInWorker(inChunks(archive, 65_536), { timeoutMs: 600_000 })
    expect(unpacked).toMatchObject({ files: 19_999, bytes: 0 })
    expect(readdirSync(join(folder, "assets")).length).toBe(19_999)
    await new ReleaseWorkers(defaultLimits).remove(parent)
    expect(existsSync(parent)).toBe(false)
  }, 600_000)

  it("rejects a source that exceeds the time limit", async () => {
    const stalled = Stream.toAsyncIterable(
      Stream.concat(Stream.succeed(makePageArchive("x").subarray(0, 50)), Stream.never)
    )
    const error = await runInWorker(stalled, { timeoutMs: 500 }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ReleaseRejectedError)
    expect(String(error)).toMatch(/takes longer than the limit of 500 ms/)
  })

  it("rejects a source that exceeds the memory limit", async () => {
    const names = Array.from({ length: 15_000 }, (_, index) =>
      makeEntry({ name: `${"n".repeat(90)}${index}`, type: "2" })
    )
    const archive = gzipSync(Buffer.concat([makeEntry(file("n")), ...names]), { level: 1 })
    const error = await runInWorker(inChunks(archive, 65_536), { memoryMb: 8 }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ReleaseRejectedError)
    expect(String(error)).toMatch(/takes more than the limit of 8 MiB of memory/)
  })

  it("fails with the error of the source", async () => {
    const failing = async function* () {
      yield makePageArchive("x").subarray(0, 50)
      throw new Error("disk failure")
    }
    await expect(runInWorker(failing())).rejects.toThrow("disk failure")
  })

  it("stops when the signal aborts", async () => {
    const abort = new AbortController()
    const firstChunk = Stream.tap(Stream.succeed(makePageArchive("x").subarray(0, 50)), () =>
      Effect.sync(() => abort.abort())
    )
    const endless = Stream.toAsyncIterable(Stream.concat(firstChunk, Stream.never))
    await expect(runInWorker(endless, {}, abort.signal)).rejects.toThrow(/abort/i)
  })
})
