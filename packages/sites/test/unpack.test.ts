import { execFileSync } from "node:child_process"
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { Effect, Stream } from "effect"
import { create } from "tar"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { defaultLimits, Rejected, unpack } from "../src/unpack.ts"
import { archiveOf, type Entry, entryOf, pageOf, pax, tarOf } from "./archives.ts"

let parent: string
let folder: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "tollgate-"))
  folder = join(parent, "content")
  mkdirSync(folder)
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const run = (archive: Uint8Array, limits = {}, size = 1000) =>
  unpack(inPieces(archive, size), folder, { ...defaultLimits, ...limits }, new AbortController().signal)

const file = (name: string): Entry => ({ name, content: "x" })

describe("unpack", () => {
  it("takes files and folders, in pieces of any size", async () => {
    const large = Buffer.alloc(300_000, "0123456789")
    const archive = archiveOf(
      { name: "./", type: "5" },
      { name: "./index.html", content: "<h1>hello</h1>" },
      { name: "./empty", type: "5" },
      { name: "./deep/er/large.bin", content: large },
      { name: "./nothing.txt" },
      { name: "./run.sh", content: "#!/bin/sh", mode: 0o4777 }
    )
    for (const size of [1, 511, 512, 513, 65_536]) {
      rmSync(folder, { recursive: true })
      mkdirSync(folder)
      expect(await run(archive, {}, size)).toEqual({ files: 4, bytes: 14 + 300_000 + 9 })
      expect(readFileSync(join(folder, "index.html"), "utf8")).toBe("<h1>hello</h1>")
      expect(readFileSync(join(folder, "deep/er/large.bin")).equals(large)).toBe(true)
      expect(statSync(join(folder, "nothing.txt")).size).toBe(0)
      expect(statSync(join(folder, "run.sh")).mode & 0o7777).toBe(0o755)
      expect(readdirSync(join(folder, "empty"))).toEqual([])
    }
  })

  it.each(["v7", "oldgnu", "gnu", "ustar", "pax"])("takes what tar --format=%s makes", async (format) => {
    const source = join(parent, "source")
    const long = `${"d".repeat(40)}/${"e".repeat(40)}/${"f".repeat(30)}`
    const deep = format === "v7" ? "deep" : long
    mkdirSync(join(source, deep), { recursive: true })
    writeFileSync(join(source, "index.html"), "hello")
    writeFileSync(join(source, deep, "ü.txt"), "deep")
    const archive = execFileSync("tar", [`--format=${format}`, "-czf", "-", "-C", source, "."])
    expect(await run(archive)).toEqual({ files: 2, bytes: 9 })
    expect(readFileSync(join(folder, deep, "ü.txt"), "utf8")).toBe("deep")
  })

  it("takes what the library itself makes", async () => {
    const source = join(parent, "source")
    mkdirSync(source)
    writeFileSync(join(source, "index.html"), "hello")
    for (const options of [{}, { portable: true }, { noPax: true }]) {
      const archive = create({ gzip: true, cwd: source, ...options }, ["."])
      expect(await run((await archive.concat()) as Buffer)).toEqual({ files: 1, bytes: 5 })
    }
  })

  it("takes long names, by both ways of writing them", async () => {
    const [one, other] = [`${"a".repeat(150)}.txt`, `${"b".repeat(150)}.txt`]
    await run(
      archiveOf(
        { name: "PaxHeader", type: "x", content: pax("path", one) },
        file("short"),
        { name: "././@LongLink", type: "L", content: `${other}\0` },
        file("short")
      )
    )
    expect(readdirSync(folder).sort()).toEqual([one, other])
  })

  it("makes a copy for a link to a file of the archive, however often it is linked", async () => {
    const archive = archiveOf(
      { name: "early", type: "2", link: "a/real.txt" },
      { name: "a/real.txt", content: "real" },
      { name: "a/b/up", type: "2", link: "../real.txt" },
      { name: "hard", type: "1", link: "a/real.txt" },
      { name: "chain", type: "2", link: "a/b/up" }
    )
    expect(await run(archive)).toEqual({ files: 5, bytes: 20 })
    for (const name of ["early", "a/b/up", "hard", "chain"]) {
      expect(lstatSync(join(folder, name)).isFile()).toBe(true)
      expect(readFileSync(join(folder, name), "utf8")).toBe("real")
    }
    const large = { name: "large", content: Buffer.alloc(6000) }
    const copies = archiveOf(large, { name: "copy", type: "2", link: "large" })
    await expect(run(copies, { bytes: 10_000 })).rejects.toThrow(/"copy" brings the files over/)
  })

  it("takes a file that is named twice, as tar writes it", async () => {
    const source = join(parent, "source")
    mkdirSync(source)
    writeFileSync(join(source, "a"), "once")
    execFileSync("ln", ["a", "b"], { cwd: source })
    const archive = execFileSync("tar", ["-czf", "-", "-C", source, "a", "a", "b"])
    expect(await run(archive)).toEqual({ files: 2, bytes: 8 })
    expect(readFileSync(join(folder, "b"), "utf8")).toBe("once")
  })

  it("takes the last of several entries of one name", async () => {
    await run(archiveOf({ name: "a", content: "longer than that" }, { name: "a", content: "short" }))
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("short")
  })

  const hostile: ReadonlyArray<readonly [what: string, archive: () => Buffer, told: RegExp]> = [
    ["a way up", () => pageOf("x", file("../evil")), /"\.\.\/evil" leads outside/],
    ["a way up, hidden", () => pageOf("x", file("a/b/../../../evil")), /"a\/b\/\.\.\/\.\.\/\.\.\/evil" leads outside/],
    ["an absolute path", () => pageOf("x", file("/etc/evil")), /"\/etc\/evil" is an absolute path/],
    ["a drive", () => pageOf("x", file("C:/evil")), /"C:\/evil" is an absolute path/],
    ["a backslash", () => pageOf("x", file("..\\evil")), /has a backslash/],
    [
      "a long path up",
      () => pageOf("x", { name: "p", type: "x", content: pax("path", "../evil") }, file("a")),
      /"\.\.\/evil" leads/
    ],
    [
      "a symbolic link",
      () => pageOf("x", { name: "link", type: "2", link: "/etc/passwd" }),
      /"link" is a link that leads/
    ],
    [
      "a link up",
      () => pageOf("x", { name: "a/b", type: "2", link: "../../c" }),
      /"a\/b" is a link that leads outside/
    ],
    ["a link to nothing", () => pageOf("x", { name: "link", type: "2", link: "gone" }), /"link" is a link to no file/],
    [
      "a link to a folder",
      () => pageOf("x", { name: "d", type: "5" }, { name: "l", type: "2", link: "d" }),
      /"l" is a link to no/
    ],
    [
      "a link where a folder is",
      () => pageOf("x", file("d/f"), { name: "d", type: "2", link: "index.html" }),
      /"d" cannot be/
    ],
    [
      "a link below a file",
      () => pageOf("x", { name: "index.html/l", type: "2", link: "../index.html" }),
      /"index.html\/l" cannot be/
    ],
    ["a link to itself", () => pageOf("x", { name: "a", type: "2", link: "a" }), /"a" is a link to no file/],
    [
      "a file through a link",
      () => pageOf("x", { name: "a", type: "2", link: ".." }, file("a/evil")),
      /"a" is a link that leads outside/
    ],
    [
      "a hard link",
      () => pageOf("x", { name: "hard", type: "1", link: "/etc/passwd" }),
      /"hard" is a link that leads outside/
    ],
    ["a hard link up", () => pageOf("x", { name: "hard", type: "1", link: "../x" }), /"hard" is a link that leads/],
    [
      "a sparse file",
      () => pageOf("x", { name: "p", type: "x", content: pax("GNU.sparse.name", "s.bin") }, file("a")),
      /"s.bin" is a sparse file/
    ],
    ["a device", () => pageOf("x", { name: "null", type: "3" }), /"null" is a device/],
    ["a block device", () => pageOf("x", { name: "disk", type: "4" }), /"disk" is a device/],
    ["a pipe", () => pageOf("x", { name: "pipe", type: "6" }), /"pipe" is a pipe/],
    ["an unknown kind", () => pageOf("x", { name: "what", type: "Z" }), /"what" is of a kind that is not known/],
    ["a zero in a name", () => pageOf("x", file("a\0b")), /"a\\u0000b" has a zero/],
    [
      "a zero in a long name",
      () => pageOf("x", { name: "p", type: "x", content: pax("path", "a\0b") }, file("a")),
      /has a zero in its name/
    ],
    ["a control character", () => pageOf("x", file("a\nb")), /"a\\nb" has a control character/],
    [
      "a name too long",
      () => pageOf("x", { name: "p", type: "x", content: pax("path", "a".repeat(300)) }, file("a")),
      /"a{200}…" cannot be/
    ],
    [
      "a path too long",
      () => pageOf("x", { name: "p", type: "x", content: pax("path", "a/".repeat(600)) }, file("a")),
      /too long a name/
    ],
    ["a file where a folder is", () => pageOf("x", { name: "d/e", content: "x" }, file("d")), /"d" cannot be a file/],
    ["a folder where a file is", () => pageOf("x", file("index.html/e")), /"index.html\/e" cannot be a file/],
    [
      "a huge header",
      () => pageOf("x", { name: "p", type: "x", content: "0".repeat(2_000_000) }),
      /"p" is .* too large a header/
    ],
    [
      "a wrong checksum",
      () => gzipSync(Buffer.concat([entryOf(file("a")), entryOf(file("b")).fill("1", 0, 3)])),
      /damaged after "a"/
    ],
    ["no gzip", () => tarOf(file("a")), /not a gzip archive/],
    ["text", () => Buffer.from("hello"), /not a gzip archive/],
    ["no tar", () => gzipSync("hello"), /damaged/],
    ["no file", () => archiveOf({ name: "./", type: "5" }), /no file in it/],
    ["an archive of nothing", () => gzipSync(Buffer.alloc(10_240)), /no file in it/],
    ["nothing", () => gzipSync(""), /damaged|no file/]
  ]

  it.each(hostile)("refuses %s, and leaves nothing outside", async (_, archive, told) => {
    const refused = await run(archive()).then(
      () => undefined,
      (error: unknown) => error
    )
    expect(refused).toBeInstanceOf(Rejected)
    expect((refused as Rejected).message).toMatch(told)
    expect(readdirSync(parent)).toEqual(["content"])
  })

  it("refuses what is cut off, wherever it is", async () => {
    const archive = pageOf("x".repeat(5000), { name: "b", content: Buffer.alloc(5000, "abcdefg") })
    for (let length = 0; length < archive.length; length++) {
      await expect(run(archive.subarray(0, length)), `${length} bytes`).rejects.toBeInstanceOf(Rejected)
    }
    const tar = tarOf(file("a"), { name: "b", content: "x".repeat(2000) })
    await expect(run(gzipSync(tar.subarray(0, 2000)))).rejects.toThrow(/damaged|cut off/)
  })

  it("refuses more entries than it takes, naming the first", async () => {
    const header = entryOf({ name: "a" })
    const many = gzipSync(Buffer.concat([...Array.from({ length: 100_000 }, () => header), Buffer.alloc(1024)]))
    await expect(run(many, {}, 65_536)).rejects.toThrow(/"a" is one entry more than the 20000/)
  })

  it("refuses a bomb when it reads its header, not when the disk is full", async () => {
    const bomb = gzipSync(
      Buffer.concat([entryOf(file("index.html")), entryOf({ name: "bomb", content: Buffer.alloc(20_000_000) })])
    )
    expect(bomb.length).toBeLessThan(30_000)
    await expect(run(bomb, { bytes: 10_000_000 })).rejects.toThrow(/"bomb" brings the files over/)
    expect(readdirSync(folder).filter((name) => name === "bomb")).toEqual([])
    const padding = gzipSync(Buffer.concat([tarOf(file("a")), Buffer.alloc(80_000_000)]))
    await expect(run(padding, { bytes: 1_000_000 })).rejects.toThrow(/unpacks to more than/)
  })

  it("fails with the source's own fault", async () => {
    const failing = async function* () {
      yield pageOf("x").subarray(0, 50)
      throw new Error("the disk is gone")
    }
    await expect(unpack(failing(), folder, defaultLimits, new AbortController().signal)).rejects.toThrow(
      "the disk is gone"
    )
  })

  it("stops when it is told to", async () => {
    const abort = new AbortController()
    const begun = Stream.tap(Stream.succeed(pageOf("x").subarray(0, 50)), () => Effect.sync(() => abort.abort()))
    const endless = Stream.toAsyncIterable(Stream.concat(begun, Stream.never))
    await expect(unpack(endless, folder, defaultLimits, abort.signal)).rejects.toThrow(/abort/i)
  })
})
