/**
 * Unpacks random and randomly corrupted archives, generated from a seed. Each archive is unpacked or rejected within
 * the time limit. Unpacking never crashes and never writes outside its folder. A rejected archive writes nothing.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterEach, beforeEach, expect, it } from "vitest"
import { defaultLimits, ReleaseRejectedError } from "../../sites/src/limits.ts"
import { ReleaseWorkers } from "../../sites/src/ReleaseWorkers.ts"
import { unpack } from "../../sites/src/unpack.ts"
import { type Entry, makeEntry, makePaxRecord } from "../../sites/test/archives.ts"
import { makeRandom, type Random, readSeed } from "./random.ts"

const limits = { ...defaultLimits, entries: 40, bytes: 400_000, depth: 6, pathBytes: 2_000, headerBytes: 20_000 }
const block = 512

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "tollgate-fuzz-"))
  mkdirSync(join(parent, "content"))
  writeFileSync(join(parent, "outside"), "untouched")
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

const pathSegments = [
  "a",
  "b",
  "c",
  ".",
  "..",
  "",
  "index.html",
  "ü",
  "a b",
  "__proto__",
  "\0",
  "\n",
  "\\",
  "C:",
  "x".repeat(260)
]

const makePath = ({ below, chance, pick }: Random): string => {
  if (chance(0.9)) return pick(["a", "b", "index.html", "d/a", "d/b", "d/e/f", "./c", "d/e/g"])
  return Array.from({ length: 1 + below(chance(0.1) ? 60 : 4) }, () => pick(pathSegments)).join("/")
}

const makeSize = ({ below, chance, pick }: Random): string | Buffer | undefined => {
  if (chance(0.97)) return undefined
  const octal = below(2 ** 31)
    .toString(8)
    .padStart(11, "0")
  return pick<string | Buffer>([
    octal,
    "77777777777",
    "-1",
    "",
    "9",
    Buffer.alloc(12, below(256)),
    Buffer.alloc(12, 0x80)
  ])
}

const makePaxRecords = (random: Random): string => {
  const { below, chance, pick } = random
  const makeRecord = () => {
    const key = pick([
      "path",
      "linkpath",
      "size",
      "mtime",
      "comment",
      "GNU.sparse.name",
      "a",
      "pathx",
      "SCHILY.xattr.b"
    ])
    const value = pick([makePath(random), String(below(2000)), "", "1".repeat(below(40)), "=", "\n"])
    const complete = makePaxRecord(key, value)
    return chance(0.95) ? complete : complete.slice(0, below(complete.length)) + pick(["", "\n", "0 ", "99999 "])
  }
  return Array.from({ length: 1 + below(3) }, makeRecord).join("")
}

const makeEntries = (random: Random): ReadonlyArray<Entry> => {
  const { below, chance, pick } = random
  const size = makeSize(random)
  const name = makePath(random)
  const type = chance(0.85)
    ? "0"
    : pick(["\0", "1", "2", "2", "1", "5", "5", "7", chance(0.8) ? "0" : pick(["3", "6", "S", "Z", "V"])])
  const entry: Entry = {
    name,
    type,
    content: type === "0" ? "x".repeat(below(chance(0.05) ? 100_000 : 1_500)) : "",
    link: chance(0.5) ? pick(["a", "b", "index.html", "d/a"]) : makePath(random),
    mode: below(0o10000),
    prefix: chance(0.02) ? makePath(random) : "",
    ...(size === undefined ? {} : { size })
  }
  if (chance(0.75)) return [entry]
  const extended: Entry = chance(0.7)
    ? { name: "pax", type: chance(0.9) ? "x" : "g", content: makePaxRecords(random) }
    : { name: "long", type: pick(["L", "K"]), content: `${makePath(random)}${pick(["\0", "", "\0\0"])}` }
  return [extended, entry]
}

/** Corrects the checksum, so that the reader does not reject the changed block before it parses it. */
const fixChecksum = (tar: Buffer, at: number): void => {
  tar.fill(" ", at + 148, at + 156)
  let sum = 0
  for (const byte of tar.subarray(at, at + block)) sum += byte
  tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, at + 148, "latin1")
}

const mutateTar = (tar: Buffer, { below, chance, pick }: Random): Buffer => {
  const blocks = Math.floor(tar.length / block)
  if (blocks === 0) return tar
  const at = below(blocks) * block
  const kind = pick(["flip", "flip", "flip", "cut", "repeat", "drop", "zero"])
  if (kind === "cut") return tar.subarray(0, below(tar.length))
  if (kind === "drop") return Buffer.concat([tar.subarray(0, at), tar.subarray(at + block)])
  if (kind === "repeat") return Buffer.concat([tar.subarray(0, at + block), tar.subarray(at)])
  if (kind === "zero") return Buffer.from(tar).fill(0, at, at + block)
  const flipped = Buffer.from(tar)
  for (let flip = 0; flip <= below(4); flip++) flipped[at + below(block)] = below(256)
  if (chance(0.8)) fixChecksum(flipped, at)
  return flipped
}

const mutateGzip = (gzip: Buffer, { below, chance, pick }: Random): Buffer => {
  if (chance(0.85)) return gzip
  const kind = pick(["flip", "cut", "append", "bomb"])
  if (kind === "cut") return gzip.subarray(0, below(gzip.length))
  if (kind === "append") return Buffer.concat([gzip, Buffer.alloc(below(2000), below(256))])
  if (kind === "bomb") return Buffer.concat([gzip, gzipSync(Buffer.alloc(2_000_000))])
  const flipped = Buffer.from(gzip)
  flipped[below(gzip.length)] = below(256)
  return flipped
}

const makeArchive = (random: Random): Buffer => {
  const { below, chance } = random
  const count = chance(0.05) ? 60 : below(10)
  const entries = Array.from({ length: count }, () => makeEntries(random)).flat()
  let tar: Buffer = Buffer.concat([...entries.map(makeEntry), Buffer.alloc(chance(0.9) ? 2 * block : below(3000))])
  while (chance(0.35)) tar = mutateTar(tar, random)
  const cut = below(tar.length + 1)
  const parts = chance(0.9) ? [tar] : [tar.subarray(0, cut), tar.subarray(cut)]
  return mutateGzip(Buffer.concat(parts.map((part) => gzipSync(part, { level: 1 }))), random)
}

const toChunks = (bytes: Buffer, size: number): AsyncIterable<Uint8Array> => ({
  async *[Symbol.asyncIterator]() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
})

/** Lists every path below the folder. Throws if one is neither a file nor a folder. */
const listPaths = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => {
    const stats = lstatSync(join(folder, name))
    if (!stats.isFile() && !stats.isDirectory()) throw new Error(`${name} is neither a file nor a folder`)
    return name
  })

const emptyFolder = (folder: string): void => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
}

/** Unpacks `count` archives, and returns how many were accepted. */
const fuzz = async (
  seed: number,
  count: number,
  unpackArchive: (source: AsyncIterable<Uint8Array>, folder: string) => Promise<{ readonly files: number }>
): Promise<number> => {
  const folder = join(parent, "content")
  let accepted = 0
  for (let index = 0; index < count; index++) {
    const random = makeRandom(seed + index)
    const archive = makeArchive(random)
    const source = toChunks(archive, random.pick([1, 100, 512, 65_536]) + random.below(100))
    const label = `seed ${seed + index}`
    const outcome = await unpackArchive(source, folder).catch((error: unknown) => error)
    const paths = listPaths(folder)
    expect(readdirSync(parent).sort(), label).toEqual(["content", "outside"])
    expect(readFileSync(join(parent, "outside"), "utf8"), label).toBe("untouched")
    if (outcome instanceof Error) {
      if (!(outcome instanceof ReleaseRejectedError)) throw new Error(`${label}: ${outcome.stack}`)
      expect(outcome.message, label).not.toMatch(/takes longer|memory/)
      expect(paths, label).toEqual([])
    } else {
      accepted++
      expect(paths.length, label).toBeLessThanOrEqual(limits.entries)
      emptyFolder(folder)
    }
  }
  return accepted
}

it("unpacks or rejects 2,000 random archives", async () => {
  const seed = readSeed("ARCHIVE_SEED")
  const start = performance.now()
  const accepted = await fuzz(seed, 2_000, (source, folder) => unpack(source, folder, limits))
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`archives: 2000 from seed ${seed}, ${accepted} accepted, ${2000 - accepted} rejected, in ${seconds} s`)
  // If nearly all or nearly none were accepted, the archives would not test much.
  expect(accepted).toBeGreaterThan(100)
  expect(accepted).toBeLessThan(1_900)
}, 120_000)

it("unpacks or rejects 300 random archives in a worker thread", async () => {
  const seed = readSeed("ARCHIVE_SEED")
  const workers = new ReleaseWorkers(limits)
  const { signal } = new AbortController()
  const accepted = await fuzz(seed, 300, (source, folder) => workers.unpack(source, folder, signal))
  console.log(`archives in a worker: 300 from seed ${seed}, ${accepted} accepted`)
}, 120_000)
