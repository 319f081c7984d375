/**
 * Hostile archives, each with the message with which it is rejected.
 */
import { randomBytes } from "node:crypto"
import { gzipSync } from "node:zlib"
import { type Entry, makeArchive, makeEntry, makePageArchive, makePaxRecord, makeTar } from "./archives.ts"

export interface HostileArchive {
  readonly name: string
  readonly make: () => Buffer
  readonly reason: RegExp
}

const MiB = 1024 * 1024
const page: Entry = { name: "index.html", content: "x" }
const file = (name: string): Entry => ({ name, content: "x" })
const symlink = (name: string, link: string): Entry => ({ name, type: "2", link })
const hardLink = (name: string, link: string): Entry => ({ name, type: "1", link })
const paxHeader = (content: string, name = "pax"): Entry => ({ name, type: "x", content })
const longName = (content: string): Entry => ({ name: "././@LongLink", type: "L", content })
const longLink = (content: string): Entry => ({ name: "././@LongLink", type: "K", content })

/** Makes an archive with a valid page, followed by the entries. */
const withPage =
  (...entries: ReadonlyArray<Entry>) =>
  () =>
    makePageArchive("x", ...entries)

/** Makes an archive of `count` entries, without holding each in memory twice. */
const repeatEntries = (count: number, entry: (index: number) => Entry): Buffer =>
  gzipSync(Buffer.concat([makeEntry(page), ...Array.from({ length: count }, (_, index) => makeEntry(entry(index)))]), {
    level: 1
  })

/** Makes an archive of half a mebibyte with a file of 480 MiB of zeros, which is within the other limits. */
export const makeBomb = (): Buffer =>
  Buffer.concat([gzipSync(makeEntry({ name: "a", size: (480 * MiB).toString(8).padStart(11, "0") })), zeros(480)])

/** Makes gzip members of 16 MiB of zeros each. */
const zeros = (mebibytes: number): Buffer => {
  const member = gzipSync(Buffer.alloc(16 * MiB))
  return Buffer.concat(Array.from({ length: Math.ceil(mebibytes / 16) }, () => member))
}

const emptyMember = gzipSync("")

const base256 = (...tail: ReadonlyArray<number>): Buffer => Buffer.from([...Array(12 - tail.length).fill(0), ...tail])

const folders = (count: number, letter: string): string => `${letter}/`.repeat(count)

const outside: ReadonlyArray<HostileArchive> = [
  { name: "a path to the parent folder", make: withPage(file("../evil")), reason: /"\.\.\/evil" points outside/ },
  {
    name: "a path to the parent folder through subfolders",
    make: withPage(file("a/b/../../../evil")),
    reason: /"a\/b\/\.\.\/\.\.\/\.\.\/evil" points outside/
  },
  { name: "a path with .. that stays inside", make: withPage(file("a/../b")), reason: /"a\/\.\.\/b" points outside/ },
  { name: "an absolute path", make: withPage(file("/etc/evil")), reason: /"\/etc\/evil" is an absolute path/ },
  { name: "a path with a drive letter", make: withPage(file("C:/evil")), reason: /"C:\/evil" is an absolute path/ },
  { name: "a path relative to a drive", make: withPage(file("c:evil")), reason: /"c:evil" is an absolute path/ },
  { name: "a backslash", make: withPage(file("..\\evil")), reason: /has a backslash/ },
  {
    name: "a PAX path to the parent folder",
    make: withPage(paxHeader(makePaxRecord("path", "../evil")), file("a")),
    reason: /"\.\.\/evil" points outside/
  },
  {
    name: "a cancelled PAX path before a path to the parent folder",
    make: withPage(paxHeader(makePaxRecord("path", "good") + makePaxRecord("path", "")), file("../evil")),
    reason: /"\.\.\/evil" points outside/
  },
  {
    name: "a GNU long name to the parent folder",
    make: withPage(longName("../evil\0"), file("a")),
    reason: /"\.\.\/evil" points outside/
  },
  {
    name: "a ustar prefix to the parent folder",
    make: withPage({ name: "evil", prefix: "..", content: "x" }),
    reason: /"\.\.\/evil" points outside/
  },
  { name: "an absolute ustar prefix", make: withPage({ name: "evil", prefix: "/etc" }), reason: /is an absolute path/ },
  {
    name: "a global header with a path",
    make: withPage({ name: "global", type: "g", content: makePaxRecord("path", "../evil") }, file("a")),
    reason: /"global" is a global header that sets the path/
  },
  {
    name: "an absolute symbolic link",
    make: withPage(symlink("link", "/etc/passwd")),
    reason: /"link" is a link that points outside/
  },
  {
    name: "a symbolic link to the parent folder",
    make: withPage(symlink("a/b", "../../c")),
    reason: /"a\/b" is a link that points outside/
  },
  {
    name: "a file through a link",
    make: withPage(symlink("a", ".."), file("a/evil")),
    reason: /"a" is a link that points outside/
  },
  {
    name: "an absolute hard link",
    make: withPage(hardLink("hard", "/etc/passwd")),
    reason: /"hard" is a link that points outside/
  },
  {
    name: "a hard link to the parent folder",
    make: withPage(hardLink("hard", "../x")),
    reason: /"hard" is a link that points outside/
  },
  {
    name: "a PAX link path outside",
    make: withPage(paxHeader(makePaxRecord("linkpath", "../../etc/passwd")), symlink("link", "index.html")),
    reason: /"link" is a link that points outside/
  },
  {
    name: "a GNU long link outside",
    make: withPage(longLink(`${"a/".repeat(80)}${"../".repeat(90)}etc\0`), hardLink("link", "index.html")),
    reason: /"link" is a link that points outside/
  }
]

const names: ReadonlyArray<HostileArchive> = [
  { name: "a NUL byte in a name", make: withPage(file("a\0b")), reason: /"a\\u0000b" has a NUL byte in its name/ },
  {
    name: "a NUL byte in a PAX path",
    make: withPage(paxHeader(makePaxRecord("path", "a\0b")), file("a")),
    reason: /"a\\u0000b" has a NUL byte in its name/
  },
  {
    name: "a NUL byte in a GNU long name",
    make: withPage(longName("a\0b\0"), file("a")),
    reason: /has a NUL byte in its name/
  },
  {
    name: "a NUL byte in a link",
    make: withPage(symlink("link", "index.html\0/../x")),
    reason: /has a NUL byte in its name/
  },
  { name: "a control character", make: withPage(file("a\nb")), reason: /"a\\nb" has a control character/ },
  {
    name: "a name that is not UTF-8",
    make: withPage({ name: Buffer.from([0x61, 0xff, 0xfe]), content: "x" }),
    reason: /has a name that is not UTF-8/
  },
  { name: "an empty name", make: withPage(file("")), reason: /"" is not a valid name/ },
  { name: "the root folder as a file", make: withPage(file(".")), reason: /"\." conflicts with another entry/ },
  {
    name: "the root folder as a link",
    make: withPage(symlink(".", "index.html")),
    reason: /"\." conflicts with another entry/
  },
  {
    name: "a name that is too long for the disk",
    make: withPage(paxHeader(makePaxRecord("path", "a".repeat(300))), file("a")),
    reason: /"a{200}…" has a name longer than 255 bytes/
  },
  {
    name: "a path that is too long",
    make: withPage(paxHeader(makePaxRecord("path", `${"a/".repeat(600)}b`)), file("a")),
    reason: /is longer than 1024 characters/
  },
  {
    name: "a file where a folder is",
    make: withPage(file("d/e"), file("d")),
    reason: /"d" conflicts with another entry/
  },
  {
    name: "a folder where a file is",
    make: withPage(file("index.html/e")),
    reason: /"index.html\/e" conflicts with another entry/
  },
  {
    name: "a folder entry where a file is",
    make: withPage({ name: "index.html", type: "5" }),
    reason: /"index.html" conflicts with another entry/
  },
  {
    name: "a link where a folder is",
    make: withPage(file("d/f"), symlink("d", "index.html")),
    reason: /"d" conflicts with another entry/
  },
  {
    name: "a link below a file",
    make: withPage(symlink("index.html/l", "../index.html")),
    reason: /"index.html\/l" conflicts with another entry/
  }
]

const kinds: ReadonlyArray<HostileArchive> = [
  { name: "a character device", make: withPage({ name: "null", type: "3" }), reason: /"null" is a device/ },
  { name: "a block device", make: withPage({ name: "disk", type: "4" }), reason: /"disk" is a device/ },
  { name: "a pipe", make: withPage({ name: "pipe", type: "6" }), reason: /"pipe" is a pipe/ },
  { name: "an unknown type", make: withPage({ name: "entry", type: "Z" }), reason: /"entry" is of an unknown type/ },
  {
    name: "a type named like an object property",
    make: withPage({ name: "entry", type: "_" }),
    reason: /is of an unknown type/
  },
  { name: "a GNU sparse file", make: withPage({ name: "s.bin", type: "S" }), reason: /"s.bin" is a sparse file/ },
  {
    name: "a PAX sparse file",
    make: withPage(
      paxHeader(makePaxRecord("GNU.sparse.major", "1") + makePaxRecord("GNU.sparse.name", "s.bin")),
      file("a")
    ),
    reason: /"s.bin" is a sparse file/
  },
  {
    name: "a link to a missing file",
    make: withPage(symlink("link", "gone")),
    reason: /"link" is a link that does not resolve to a file/
  },
  {
    name: "a link with an empty target",
    make: withPage(symlink("link", "")),
    reason: /"link" is a link that does not resolve to a file/
  },
  {
    name: "a link to a folder",
    make: withPage({ name: "d", type: "5" }, symlink("l", "d")),
    reason: /"l" is a link that does not resolve to a file/
  },
  {
    name: "a link to itself",
    make: withPage(symlink("a", "a")),
    reason: /"a" is a link that does not resolve to a file/
  },
  {
    name: "a hard link to itself",
    make: withPage(hardLink("a", "a")),
    reason: /"a" is a link that does not resolve to a file/
  },
  {
    name: "a cycle of links",
    make: withPage(symlink("a", "b"), symlink("b", "a")),
    reason: /"a" is a link that does not resolve to a file/
  },
  {
    name: "a chain of 10,000 links",
    make: () =>
      repeatEntries(10_000, (index) => symlink(`l${index}`, index === 9_999 ? "index.html" : `l${index + 1}`)),
    reason: /"l0" is a link that does not resolve to a file/
  }
]

const headers: ReadonlyArray<HostileArchive> = [
  {
    name: "a PAX header of zeros that ends in a letter",
    make: withPage(paxHeader(`${"\0".repeat(64 * 1024 - 1)}x`), file("a")),
    reason: /damaged or truncated after "index.html"/
  },
  {
    name: "a PAX header of a mebibyte of zeros that ends in a letter",
    make: withPage(paxHeader(`${"\0".repeat(MiB - 1)}x`), file("a")),
    reason: /"pax" is an extended header larger than 65536 bytes/
  },
  {
    name: "40 PAX headers of a mebibyte",
    make: () => repeatEntries(40, () => paxHeader("5 a=\n".repeat(MiB / 5))),
    reason: /"pax" is an extended header larger than 65536 bytes/
  },
  {
    name: "1,000 PAX headers of 64 KiB",
    make: () => repeatEntries(1_000, () => paxHeader("5 a=\n".repeat(13_000))),
    reason: /"pax" exceeds the limit of 8388608 bytes for extended headers/
  },
  {
    name: "50,000 PAX headers",
    make: () => repeatEntries(50_000, () => paxHeader("5 a=\n")),
    reason: /"pax" exceeds the limit of 40000 extended headers/
  },
  {
    name: "50,000 GNU long names",
    make: () => repeatEntries(50_000, () => longName("a\0")),
    reason: /exceeds the limit of 40000 extended headers/
  },
  {
    name: "a PAX header that claims 500 MB",
    make: withPage({ ...paxHeader(""), size: (500_000_000).toString(8).padStart(11, "0") }),
    reason: /"pax" is an extended header larger than 65536 bytes/
  },
  {
    name: "a GNU long name that claims 2^52 bytes",
    make: withPage({ ...longName(""), size: base256(0x10, 0, 0, 0, 0, 0, 0).fill(0x80, 0, 1) }),
    reason: /is an extended header larger than 65536 bytes/
  },
  {
    name: "a size that exceeds the safe integers",
    make: withPage({ name: "a", size: Buffer.alloc(12, 0xff).fill(0x80, 0, 1) }),
    reason: /damaged or truncated after "index.html"/
  },
  {
    name: "a negative size",
    make: withPage({ name: "a", size: Buffer.alloc(12, 0xff) }),
    reason: /damaged or truncated/
  },
  {
    name: "a negative size in digits",
    make: withPage({ name: "a", size: "-0000000001" }),
    reason: /damaged or truncated/
  },
  {
    name: "a size that is not octal",
    make: withPage({ name: "a", size: "00000000089" }),
    reason: /damaged or truncated/
  },
  {
    name: "a PAX size that exceeds the limit",
    make: withPage(paxHeader(makePaxRecord("size", "999999999999999")), file("a")),
    reason: /"a" exceeds the limit of 524288000 bytes for all files/
  },
  {
    name: "a negative PAX size",
    make: withPage(paxHeader(makePaxRecord("size", "-1")), file("a")),
    reason: /damaged or truncated/
  },
  {
    name: "a PAX size in hex",
    make: withPage(paxHeader(makePaxRecord("size", "0x10")), file("a")),
    reason: /damaged or truncated/
  },
  {
    name: "a PAX size that hides an entry in another's content",
    make: withPage(paxHeader(makePaxRecord("size", "0")), { name: "a", content: makeEntry(file("../evil")) }),
    reason: /points outside/
  },
  {
    name: "a PAX record longer than its header",
    make: withPage(paxHeader("99 path=a\n"), file("a")),
    reason: /damaged/
  },
  { name: "a PAX record of length zero", make: withPage(paxHeader("0 path=a\n"), file("a")), reason: /damaged/ },
  { name: "a PAX record without a key", make: withPage(paxHeader("5 =a\n"), file("a")), reason: /damaged/ },
  {
    name: "a PAX length without a terminator",
    make: withPage(paxHeader("1".repeat(60_000)), file("a")),
    reason: /damaged/
  },
  {
    name: "a long name without an entry",
    make: () => gzipSync(makeEntry(longName("a\0"))),
    reason: /damaged or truncated/
  }
]

const amounts: ReadonlyArray<HostileArchive> = [
  {
    name: "100,000 entries with the same name",
    make: () => repeatEntries(100_000, () => ({ name: "a" })),
    reason: /"a" exceeds the limit of 20000 entries/
  },
  {
    name: "200 paths of 508 folders",
    make: () =>
      gzipSync(
        Buffer.concat(
          Array.from({ length: 200 }, (_, index) =>
            Buffer.concat([
              makeEntry(paxHeader(makePaxRecord("path", `${index}/${folders(507, "a")}f`))),
              makeEntry({ name: "f" })
            ])
          )
        )
      ),
    reason: /"0\/a\/.*…" is more than 32 folders deep/
  },
  {
    name: "2,000 paths of 30 folders",
    make: () => repeatEntries(2_000, (index) => ({ name: `${index}/${folders(29, "a")}f` })),
    reason: /"\d+\/a\/.*" exceeds the limit of 20000 entries/
  },
  {
    name: "21,000 folders",
    make: () => repeatEntries(21_000, (index) => ({ name: `${index}/`, type: "5" })),
    reason: /"19999\/" exceeds the limit of 20000 entries/
  },
  {
    name: "33 nested folders",
    make: withPage(file(`${folders(33, "a")}f`)),
    reason: /more than 32 folders deep/
  },
  {
    name: "15,000 names of 1,000 bytes",
    make: () =>
      gzipSync(
        Buffer.concat(
          Array.from({ length: 15_000 }, (_, index) => {
            const path = `${"a".repeat(200)}/${"b".repeat(200)}/${"c".repeat(200)}/${"d".repeat(200)}/${index}`
            return Buffer.concat([makeEntry(longName(`${path}\0`)), makeEntry({ name: "f" })])
          })
        ),
        { level: 1 }
      ),
    reason: /"a{200}…" exceeds the limit of 2097152 bytes for all paths/
  },
  {
    name: "a file of a gibibyte",
    make: withPage({ name: "bomb", size: (1024 * MiB).toString(8).padStart(11, "0") }),
    reason: /"bomb" exceeds the limit of 524288000 bytes for all files/
  },
  {
    name: "100 links to a file of 10 MiB",
    make: () =>
      makeArchive(
        { name: "large", content: Buffer.alloc(10 * MiB) },
        ...Array.from({ length: 100 }, (_, index) => hardLink(`copy${index}`, "large"))
      ),
    reason: /"copy0" makes the source more than 100 times as large as its archive of \d+ bytes/
  },
  {
    name: "600 MiB of zeros after the end",
    make: () => Buffer.concat([makePageArchive("x"), zeros(600)]),
    reason: /There are more than 1048576 bytes after the end/
  },
  {
    name: "480 MiB of zeros in an archive of half a mebibyte",
    make: makeBomb,
    reason: /"a" makes the source more than 100 times as large as its archive of \d+ bytes/
  },
  {
    name: "600 MiB in repeated entries of one file",
    make: () => {
      const member = gzipSync(makeEntry({ name: "a", content: Buffer.alloc(15 * MiB) }))
      return Buffer.concat(Array.from({ length: 40 }, () => member))
    },
    reason: /"a" makes the source more than 100 times as large as its archive of \d+ bytes/
  },
  {
    name: "600 MiB in the padding and content of folders",
    make: () => Buffer.concat([gzipSync(makeEntry({ name: "d", type: "5", size: "77777777777" })), zeros(600)]),
    reason: /The archive contains no files|after the end/
  }
]

const broken: ReadonlyArray<HostileArchive> = [
  {
    name: "a wrong checksum",
    make: () => gzipSync(Buffer.concat([makeEntry(file("a")), makeEntry(file("b")).fill("1", 0, 3)])),
    reason: /damaged or truncated after "a"/
  },
  { name: "half a header", make: () => gzipSync(makeEntry(file("a")).subarray(0, 300)), reason: /damaged/ },
  {
    name: "truncated content",
    make: () => gzipSync(makeEntry({ name: "a", content: "x".repeat(5000) }).subarray(0, 3000)),
    reason: /damaged or truncated after "a"/
  },
  {
    name: "truncated gzip",
    make: () => makePageArchive("x".repeat(5000)).subarray(0, -9),
    reason: /damaged or truncated/
  },
  {
    name: "a second archive after the first",
    make: () => Buffer.concat([makePageArchive("x"), makeArchive(file("evil"))]),
    reason: /data after the end/
  },
  {
    name: "an entry after one block of zeros",
    make: () => gzipSync(Buffer.concat([makeEntry(page), Buffer.alloc(512), makeEntry(file("evil"))])),
    reason: /data after the end/
  },
  {
    name: "noise after gzip",
    make: () => Buffer.concat([makePageArchive("x"), Buffer.alloc(999, "z")]),
    reason: /damaged/
  },
  { name: "tar without gzip", make: () => makeTar(file("a")), reason: /not a gzip archive/ },
  { name: "plain text", make: () => Buffer.from("hello"), reason: /not a gzip archive/ },
  { name: "gzip without tar", make: () => gzipSync("hello"), reason: /damaged/ },
  { name: "gzip of noise", make: () => gzipSync(randomBytes(100_000)), reason: /damaged/ },
  { name: "gzip in gzip", make: () => gzipSync(makePageArchive("x")), reason: /damaged/ },
  { name: "empty gzip", make: () => gzipSync(""), reason: /The archive contains no files/ },
  {
    name: "100,000 empty gzip members",
    make: () => Buffer.concat(Array.from({ length: 100_000 }, () => emptyMember)),
    reason: /The archive contains no files/
  },
  { name: "an empty archive", make: () => gzipSync(Buffer.alloc(10_240)), reason: /The archive contains no files/ },
  { name: "only folders", make: () => makeArchive({ name: "./", type: "5" }), reason: /The archive contains no files/ }
]

export const hostileArchives: ReadonlyArray<HostileArchive> = [
  ...outside,
  ...names,
  ...kinds,
  ...headers,
  ...amounts,
  ...broken
]
