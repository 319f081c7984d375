/**
 * A file that several versions of a deployment share is on the disk once, for as long as one of them is kept.
 */
import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makePageArchive } from "./archives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

let server: TestServer
beforeEach(async () => {
  server = await startTestServer(MemoryStore.open())
})
afterEach(() => server.close())

const listPaths = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? [path, ...listPaths(path)] : [path]
  })

/** What the releases occupy on the disk. A file with several links counts once. */
const measureDisk = () => {
  const stats = listPaths(join(server.folder, "releases")).map((path) => lstatSync(path))
  const byInode = new Map(stats.map(({ ino, blocks }) => [ino, blocks * 512]))
  return {
    bytes: [...byInode.values()].reduce((sum, bytes) => sum + bytes, 0),
    files: new Set(stats.filter((stat) => stat.isFile()).map(({ ino }) => ino)).size
  }
}

const countHeld = async () => (await server.call("GET", "/v1/accounts/acme")).body

const readText = async (url: string, file: string) =>
  (await server.call("GET", `${new URL(url).pathname}${file}`, { token: null })).body

describe("ten versions of 1,000 files, of which 10 change", () => {
  const makeContent = (file: number, changes: number) => `${file}: ${"x".repeat(3_000)} ${changes}`
  const makeArchive = (version: number) =>
    makePageArchive(
      "page",
      ...Array.from({ length: 999 }, (_, file) => ({
        name: `files/${file % 10}/${file}.txt`,
        // Each version changes another ten.
        content: makeContent(file, Math.floor(file / 10) < version ? 1 : 0)
      }))
    )

  it("occupy little more than one of them, and what is counted is what they occupy", async () => {
    const first = await server.deploy("p", makeArchive(0))
    const one = measureDisk()
    for (let version = 1; version < 10; version++) await server.deploy("p", makeArchive(version))
    const ten = measureDisk()
    // The files of the first, ten more of each other, and their manifests.
    expect(one.files).toBe(1_000 + 1)
    expect(ten.files).toBe(1_000 + 9 * 10 + 10)
    console.log(`1,000 files of 3 kB: one version ${one.bytes} bytes, ten versions with 10 changes each ${ten.bytes}`)
    expect(ten.bytes).toBeLessThan(1.5 * one.bytes)

    const held = (await countHeld()).deploymentBytes.used
    const sources = readdirSync(join(server.folder, "sources")).reduce(
      (sum, name) => sum + lstatSync(join(server.folder, "sources", name)).size,
      0
    )
    expect(Math.abs(held - sources - ten.bytes)).toBeLessThan(0.1 * ten.bytes)

    // The first is not kept any more: what the others share with it stays, and counts for them.
    const { url, id } = await server.deploy("p", makeArchive(10))
    await expect.poll(() => server.onDisk().releases.length).toBe(10)
    expect(server.onDisk().releases.some((name) => name.includes(first.id))).toBe(false)
    await expect.poll(() => measureDisk().files).toBe(1_000 + 9 * 10 + 10)
    await expect.poll(async () => Math.abs((await countHeld()).deploymentBytes.used - held)).toBeLessThan(0.02 * held)
    expect(await readText(url, "files/5/995.txt")).toBe(makeContent(995, 0))
    expect(await readText(url, "files/5/5.txt")).toBe(makeContent(5, 1))
    expect(id).not.toBe(first.id)
  })
})

describe("the files of a release", () => {
  const filesOf = (id: string) => {
    const release = server.onDisk().releases.find((name) => name.includes(id)) ?? ""
    return new Map(
      readdirSync(join(server.folder, "releases", release, "files")).map((name) => {
        const path = join(server.folder, "releases", release, "files", name)
        return [readFileSync(path, "utf8"), lstatSync(path)]
      })
    )
  }

  it("are only those that it serves, each content once, and those of an earlier release again", async () => {
    const shared = { name: "a/shared.txt", content: "shared" }
    const first = await server.deploy(
      "p",
      makePageArchive("one", shared, { name: "b/copy.txt", content: "shared" }, { name: ".env", content: "SECRET" })
    )
    expect([...filesOf(first.id).keys()].sort()).toEqual(["one", "shared"])
    await server.deploy("p", makePageArchive("two"))
    const third = await server.deploy("p", makePageArchive("three", shared))
    expect(filesOf(third.id).get("shared")?.ino).toBe(filesOf(first.id).get("shared")?.ino)
    expect(await readText(third.url, "a/shared.txt")).toBe("shared")
    expect(await readText(first.url, "b/copy.txt")).not.toBe("shared")
    const release = server.onDisk().releases.find((name) => name.includes(first.id)) ?? ""
    expect(readdirSync(join(server.folder, "releases", release)).sort()).toEqual(["files", "manifest"])
  })

  it("are not shared with other deployments, also of the same account", async () => {
    const first = await server.deploy("p", makePageArchive("same"))
    const preview = await server.deploy("p", makePageArchive("same"), "preview")
    const other = await server.deploy("q", makePageArchive("same"))
    const inodes = [first, preview, other].map(({ id }) => filesOf(id).get("same")?.ino)
    expect(new Set(inodes).size).toBe(3)
  })

  it("are copied where an earlier one has disappeared", async () => {
    const first = await server.deploy("p", makePageArchive("same"))
    const release = server.onDisk().releases.find((name) => name.includes(first.id)) ?? ""
    rmSync(join(server.folder, "releases", release), { recursive: true })
    writeFileSync(join(server.folder, "releases", release), "a file in its place")
    const second = await server.deploy("p", makePageArchive("same"))
    expect(second.status).toBe("SUCCESS")
    expect(await readText(second.url, "")).toBe("same")
  })
})

describe("the files of kept versions", () => {
  it("do not change with a file of the build that has another name", async () => {
    const cache = join(server.folder, "..", `cache-${process.pid}-${Date.now()}`)
    const building = await startTestServer(MemoryStore.open(), {
      build: {
        command: `[ -e ${cache} ] || cp index.html ${cache}; cat index.html > ${cache}; rm index.html; ln ${cache} index.html`
      }
    })
    try {
      const first = await building.deploy("p", makePageArchive("one"))
      const [{ url = "" } = {}] = (
        await building.call("GET", `/v1/deployments/${first.url.split("/").at(-2)}/versions`)
      ).body.data
      await building.deploy("p", makePageArchive("two"))
      expect((await building.call("GET", new URL(url).pathname, { token: null })).body).toBe("one")
    } finally {
      await building.close()
      rmSync(cache, { force: true })
    }
  })

  it("are stored again if what an earlier version has is cut off", async () => {
    const archive = makePageArchive("page", { name: "large.txt", content: "y".repeat(10_000) })
    await server.deploy("p", archive)
    const large = listPaths(join(server.folder, "releases")).find((path) => lstatSync(path).size === 10_000) ?? ""
    writeFileSync(large, "y")
    const { url } = await server.deploy("p", archive)
    expect(await readText(url, "large.txt")).toBe("y".repeat(10_000))
  })
})
