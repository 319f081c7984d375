/**
 * Archives that nobody but an attacker would upload, each with the reason for which it is refused.
 */
import { randomBytes } from "node:crypto"
import { gzipSync } from "node:zlib"
import { archiveOf, type Entry, entryOf, pageOf, pax, tarOf } from "./archives.ts"

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

const after =
  (...entries: ReadonlyArray<Entry>) =>
  () =>
    pageOf("x", ...entries)

/** An archive of so many entries, made without holding each in memory twice. */
const manyOf = (count: number, entry: (index: number) => Entry): Buffer =>
  gzipSync(Buffer.concat([entryOf(page), ...Array.from({ length: count }, (_, index) => entryOf(entry(index)))]), {
    level: 1
  })

/** So many MiB of zeros, as gzip members of 16 MiB. */
const zeros = (mebibytes: number): Buffer => {
  const member = gzipSync(Buffer.alloc(16 * MiB))
  return Buffer.concat(Array.from({ length: Math.ceil(mebibytes / 16) }, () => member))
}

const emptyMember = gzipSync("")

const base256 = (...tail: ReadonlyArray<number>): Buffer => Buffer.from([...Array(12 - tail.length).fill(0), ...tail])

const folders = (count: number, letter: string): string => `${letter}/`.repeat(count)

const outside: ReadonlyArray<HostileArchive> = [
  { name: "a path up", make: after(file("../evil")), reason: /"\.\.\/evil" leads outside/ },
  {
    name: "a path up, hidden",
    make: after(file("a/b/../../../evil")),
    reason: /"a\/b\/\.\.\/\.\.\/\.\.\/evil" leads outside/
  },
  { name: "a path that comes back", make: after(file("a/../b")), reason: /"a\/\.\.\/b" leads outside/ },
  { name: "an absolute path", make: after(file("/etc/evil")), reason: /"\/etc\/evil" is an absolute path/ },
  { name: "a drive", make: after(file("C:/evil")), reason: /"C:\/evil" is an absolute path/ },
  { name: "a path relative to a drive", make: after(file("c:evil")), reason: /"c:evil" is an absolute path/ },
  { name: "a backslash", make: after(file("..\\evil")), reason: /has a backslash/ },
  { name: "a PAX path up", make: after(paxHeader(pax("path", "../evil")), file("a")), reason: /"\.\.\/evil" leads/ },
  {
    name: "a PAX path that is taken back, over a path up",
    make: after(paxHeader(pax("path", "good") + pax("path", "")), file("../evil")),
    reason: /"\.\.\/evil" leads outside/
  },
  { name: "a GNU long name up", make: after(longName("../evil\0"), file("a")), reason: /"\.\.\/evil" leads outside/ },
  {
    name: "a ustar prefix up",
    make: after({ name: "evil", prefix: "..", content: "x" }),
    reason: /"\.\.\/evil" leads outside/
  },
  { name: "an absolute ustar prefix", make: after({ name: "evil", prefix: "/etc" }), reason: /is an absolute path/ },
  {
    name: "a global header with a path",
    make: after({ name: "global", type: "g", content: pax("path", "../evil") }, file("a")),
    reason: /"global" is a header that gives all entries one path/
  },
  {
    name: "a symbolic link outside",
    make: after(symlink("link", "/etc/passwd")),
    reason: /"link" is a link that leads/
  },
  { name: "a symbolic link up", make: after(symlink("a/b", "../../c")), reason: /"a\/b" is a link that leads outside/ },
  {
    name: "a file through a link",
    make: after(symlink("a", ".."), file("a/evil")),
    reason: /"a" is a link that leads outside/
  },
  { name: "a hard link outside", make: after(hardLink("hard", "/etc/passwd")), reason: /"hard" is a link that leads/ },
  { name: "a hard link up", make: after(hardLink("hard", "../x")), reason: /"hard" is a link that leads outside/ },
  {
    name: "a PAX link path outside",
    make: after(paxHeader(pax("linkpath", "../../etc/passwd")), symlink("link", "index.html")),
    reason: /"link" is a link that leads outside/
  },
  {
    name: "a GNU long link outside",
    make: after(longLink(`${"a/".repeat(80)}${"../".repeat(90)}etc\0`), hardLink("link", "index.html")),
    reason: /"link" is a link that leads outside/
  }
]

const names: ReadonlyArray<HostileArchive> = [
  { name: "a zero in a name", make: after(file("a\0b")), reason: /"a\\u0000b" has a zero in its name/ },
  {
    name: "a zero in a PAX path",
    make: after(paxHeader(pax("path", "a\0b")), file("a")),
    reason: /"a\\u0000b" has a zero in its name/
  },
  { name: "a zero in a GNU long name", make: after(longName("a\0b\0"), file("a")), reason: /has a zero in its name/ },
  { name: "a zero in a link", make: after(symlink("link", "index.html\0/../x")), reason: /has a zero in its name/ },
  { name: "a control character", make: after(file("a\nb")), reason: /"a\\nb" has a control character/ },
  {
    name: "a name that is not UTF-8",
    make: after({ name: Buffer.from([0x61, 0xff, 0xfe]), content: "x" }),
    reason: /is a name that is not UTF-8/
  },
  { name: "no name", make: after(file("")), reason: /"" is no name/ },
  { name: "the folder itself as a file", make: after(file(".")), reason: /"\." cannot be a file/ },
  { name: "the folder itself as a link", make: after(symlink(".", "index.html")), reason: /"\." cannot be a file/ },
  {
    name: "a name too long for the disk",
    make: after(paxHeader(pax("path", "a".repeat(300))), file("a")),
    reason: /"a{200}…" has a name of more than 255 bytes/
  },
  {
    name: "a path too long",
    make: after(paxHeader(pax("path", `${"a/".repeat(600)}b`)), file("a")),
    reason: /has too long a name/
  },
  { name: "a file where a folder is", make: after(file("d/e"), file("d")), reason: /"d" cannot be a file or folder/ },
  { name: "a folder where a file is", make: after(file("index.html/e")), reason: /"index.html\/e" cannot be a file/ },
  {
    name: "a folder entry where a file is",
    make: after({ name: "index.html", type: "5" }),
    reason: /"index.html" cannot be a file or folder/
  },
  {
    name: "a link where a folder is",
    make: after(file("d/f"), symlink("d", "index.html")),
    reason: /"d" cannot be/
  },
  {
    name: "a link below a file",
    make: after(symlink("index.html/l", "../index.html")),
    reason: /"index.html\/l" cannot be/
  }
]

const kinds: ReadonlyArray<HostileArchive> = [
  { name: "a character device", make: after({ name: "null", type: "3" }), reason: /"null" is a device/ },
  { name: "a block device", make: after({ name: "disk", type: "4" }), reason: /"disk" is a device/ },
  { name: "a pipe", make: after({ name: "pipe", type: "6" }), reason: /"pipe" is a pipe/ },
  { name: "an unknown kind", make: after({ name: "what", type: "Z" }), reason: /"what" is of an unknown kind/ },
  { name: "a kind named like a property", make: after({ name: "what", type: "_" }), reason: /is of an unknown kind/ },
  { name: "a GNU sparse file", make: after({ name: "s.bin", type: "S" }), reason: /"s.bin" is a sparse file/ },
  {
    name: "a PAX sparse file",
    make: after(paxHeader(pax("GNU.sparse.major", "1") + pax("GNU.sparse.name", "s.bin")), file("a")),
    reason: /"s.bin" is a sparse file/
  },
  { name: "a link to nothing", make: after(symlink("link", "gone")), reason: /"link" is a link to no file/ },
  { name: "a link to nowhere", make: after(symlink("link", "")), reason: /"link" is a link to no file/ },
  {
    name: "a link to a folder",
    make: after({ name: "d", type: "5" }, symlink("l", "d")),
    reason: /"l" is a link to no file/
  },
  { name: "a link to itself", make: after(symlink("a", "a")), reason: /"a" is a link to no file/ },
  { name: "a hard link to itself", make: after(hardLink("a", "a")), reason: /"a" is a link to no file/ },
  { name: "links in a circle", make: after(symlink("a", "b"), symlink("b", "a")), reason: /"a" is a link to no file/ },
  {
    name: "a chain of 10,000 links",
    make: () => manyOf(10_000, (index) => symlink(`l${index}`, index === 9_999 ? "index.html" : `l${index + 1}`)),
    reason: /"l0" is a link to no file/
  }
]

const headers: ReadonlyArray<HostileArchive> = [
  {
    name: "a PAX header of zeros that ends in a letter",
    make: after(paxHeader(`${"\0".repeat(64 * 1024 - 1)}x`), file("a")),
    reason: /damaged or cut off after "index.html"/
  },
  {
    name: "a PAX header of a mebibyte of zeros that ends in a letter",
    make: after(paxHeader(`${"\0".repeat(MiB - 1)}x`), file("a")),
    reason: /"pax" is an extended header of more than the 65536 bytes/
  },
  {
    name: "40 PAX headers of a mebibyte",
    make: () => manyOf(40, () => paxHeader("5 a=\n".repeat(MiB / 5))),
    reason: /"pax" is an extended header of more than the 65536 bytes/
  },
  {
    name: "1,000 PAX headers of 64 KiB",
    make: () => manyOf(1_000, () => paxHeader("5 a=\n".repeat(13_000))),
    reason: /"pax" brings the extended headers over the 8388608 bytes/
  },
  {
    name: "50,000 PAX headers",
    make: () => manyOf(50_000, () => paxHeader("5 a=\n")),
    reason: /"pax" is one extended header more than the 40000 allowed/
  },
  {
    name: "50,000 GNU long names",
    make: () => manyOf(50_000, () => longName("a\0")),
    reason: /is one extended header more than the 40000 allowed/
  },
  {
    name: "a PAX header that claims 500 MB",
    make: after({ ...paxHeader(""), size: (500_000_000).toString(8).padStart(11, "0") }),
    reason: /"pax" is an extended header of more than the 65536 bytes/
  },
  {
    name: "a GNU long name that claims 2^52 bytes",
    make: after({ ...longName(""), size: base256(0x10, 0, 0, 0, 0, 0, 0).fill(0x80, 0, 1) }),
    reason: /is an extended header of more than the 65536 bytes/
  },
  {
    name: "a size beyond what numbers hold",
    make: after({ name: "a", size: Buffer.alloc(12, 0xff).fill(0x80, 0, 1) }),
    reason: /damaged or cut off after "index.html"/
  },
  { name: "a negative size", make: after({ name: "a", size: Buffer.alloc(12, 0xff) }), reason: /damaged or cut off/ },
  { name: "a negative size in digits", make: after({ name: "a", size: "-0000000001" }), reason: /damaged or cut off/ },
  { name: "a size that is not octal", make: after({ name: "a", size: "00000000089" }), reason: /damaged or cut off/ },
  {
    name: "a PAX size that is larger than all",
    make: after(paxHeader(pax("size", "999999999999999")), file("a")),
    reason: /"a" brings the files over the 524288000 bytes/
  },
  { name: "a negative PAX size", make: after(paxHeader(pax("size", "-1")), file("a")), reason: /damaged or cut off/ },
  { name: "a PAX size in hex", make: after(paxHeader(pax("size", "0x10")), file("a")), reason: /damaged or cut off/ },
  {
    name: "a PAX size that hides an entry in another's content",
    make: after(paxHeader(pax("size", "0")), { name: "a", content: entryOf(file("../evil")) }),
    reason: /leads outside/
  },
  { name: "a PAX record longer than its header", make: after(paxHeader("99 path=a\n"), file("a")), reason: /damaged/ },
  { name: "a PAX record of no length", make: after(paxHeader("0 path=a\n"), file("a")), reason: /damaged/ },
  { name: "a PAX record without a key", make: after(paxHeader("5 =a\n"), file("a")), reason: /damaged/ },
  { name: "a PAX length without an end", make: after(paxHeader("1".repeat(60_000)), file("a")), reason: /damaged/ },
  { name: "a long name for no entry", make: () => gzipSync(entryOf(longName("a\0"))), reason: /damaged or cut off/ }
]

const amounts: ReadonlyArray<HostileArchive> = [
  {
    name: "100,000 entries of one name",
    make: () => manyOf(100_000, () => ({ name: "a" })),
    reason: /"a" is one entry more than the 20000 allowed/
  },
  {
    name: "200 paths of 508 folders",
    make: () =>
      gzipSync(
        Buffer.concat(
          Array.from({ length: 200 }, (_, index) =>
            Buffer.concat([entryOf(paxHeader(pax("path", `${index}/${folders(507, "a")}f`))), entryOf({ name: "f" })])
          )
        )
      ),
    reason: /"0\/a\/.*…" is more than 32 folders deep/
  },
  {
    name: "2,000 paths of 30 folders",
    make: () => manyOf(2_000, (index) => ({ name: `${index}/${folders(29, "a")}f` })),
    reason: /"\d+\/a\/.*" is one entry more than the 20000 allowed/
  },
  {
    name: "21,000 folders",
    make: () => manyOf(21_000, (index) => ({ name: `${index}/`, type: "5" })),
    reason: /"19999\/" is one entry more than the 20000 allowed/
  },
  {
    name: "33 folders inside each other",
    make: after(file(`${folders(33, "a")}f`)),
    reason: /more than 32 folders deep/
  },
  {
    name: "15,000 names of 1,000 bytes",
    make: () =>
      gzipSync(
        Buffer.concat(
          Array.from({ length: 15_000 }, (_, index) => {
            const path = `${"a".repeat(200)}/${"b".repeat(200)}/${"c".repeat(200)}/${"d".repeat(200)}/${index}`
            return Buffer.concat([entryOf(longName(`${path}\0`)), entryOf({ name: "f" })])
          })
        ),
        { level: 1 }
      ),
    reason: /"a{200}…" brings all paths over the 2097152 bytes/
  },
  {
    name: "a file of a gibibyte",
    make: after({ name: "bomb", size: (1024 * MiB).toString(8).padStart(11, "0") }),
    reason: /"bomb" brings the files over the 524288000 bytes/
  },
  {
    name: "100 links to a file of 10 MiB",
    make: () =>
      archiveOf(
        { name: "large", content: Buffer.alloc(10 * MiB) },
        ...Array.from({ length: 100 }, (_, index) => hardLink(`copy${index}`, "large"))
      ),
    reason: /"copy\d+" brings the files over the 524288000 bytes/
  },
  {
    name: "600 MiB of zeros behind the end",
    make: () => Buffer.concat([pageOf("x"), zeros(600)]),
    reason: /it has more than 1048576 bytes behind the end/
  },
  {
    name: "600 MiB in one name, written over and over",
    make: () => {
      const member = gzipSync(entryOf({ name: "a", content: Buffer.alloc(15 * MiB) }))
      return Buffer.concat(Array.from({ length: 40 }, () => member))
    },
    reason: /"a" brings the files over the 524288000 bytes/
  },
  {
    name: "600 MiB in the padding and content of folders",
    make: () => Buffer.concat([gzipSync(entryOf({ name: "d", type: "5", size: "77777777777" })), zeros(600)]),
    reason: /there is no file in it|behind the end/
  }
]

const broken: ReadonlyArray<HostileArchive> = [
  {
    name: "a wrong checksum",
    make: () => gzipSync(Buffer.concat([entryOf(file("a")), entryOf(file("b")).fill("1", 0, 3)])),
    reason: /damaged or cut off after "a"/
  },
  { name: "half a header", make: () => gzipSync(entryOf(file("a")).subarray(0, 300)), reason: /damaged/ },
  {
    name: "a content that is cut off",
    make: () => gzipSync(entryOf({ name: "a", content: "x".repeat(5000) }).subarray(0, 3000)),
    reason: /damaged or cut off after "a"/
  },
  { name: "gzip that is cut off", make: () => pageOf("x".repeat(5000)).subarray(0, -9), reason: /damaged or cut off/ },
  {
    name: "a second archive behind the first",
    make: () => Buffer.concat([pageOf("x"), archiveOf(file("evil"))]),
    reason: /data behind the end/
  },
  {
    name: "an entry behind one block of zeros",
    make: () => gzipSync(Buffer.concat([entryOf(page), Buffer.alloc(512), entryOf(file("evil"))])),
    reason: /data behind the end/
  },
  { name: "noise behind gzip", make: () => Buffer.concat([pageOf("x"), Buffer.alloc(999, "z")]), reason: /damaged/ },
  { name: "no gzip", make: () => tarOf(file("a")), reason: /not a gzip archive/ },
  { name: "a text", make: () => Buffer.from("hello"), reason: /not a gzip archive/ },
  { name: "gzip without tar", make: () => gzipSync("hello"), reason: /damaged/ },
  { name: "gzip of noise", make: () => gzipSync(randomBytes(100_000)), reason: /damaged/ },
  { name: "gzip in gzip", make: () => gzipSync(pageOf("x")), reason: /damaged/ },
  { name: "gzip of nothing", make: () => gzipSync(""), reason: /there is no file in it/ },
  {
    name: "100,000 gzip members of nothing",
    make: () => Buffer.concat(Array.from({ length: 100_000 }, () => emptyMember)),
    reason: /there is no file in it/
  },
  { name: "an archive of nothing", make: () => gzipSync(Buffer.alloc(10_240)), reason: /there is no file in it/ },
  { name: "folders alone", make: () => archiveOf({ name: "./", type: "5" }), reason: /there is no file in it/ }
]

export const hostileArchives: ReadonlyArray<HostileArchive> = [
  ...outside,
  ...names,
  ...kinds,
  ...headers,
  ...amounts,
  ...broken
]
