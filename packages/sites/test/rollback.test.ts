/**
 * Rollbacks and promotions over HTTP, with real files and sites.
 */
import { readdirSync, rmSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stores, tokens } from "../../core/test/stores.ts"
import { makePageArchive } from "./archives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

const unknown = "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690"

describe.each(stores)("a rollback over HTTP, on %s", (_, store) => {
  let server: TestServer
  let count = 0
  beforeAll(async () => {
    server = await startTestServer(store)
  })
  afterAll(() => server.close())

  /** Deploys two versions of a new project. */
  const deployTwo = async () => {
    const project = `project-${++count}`
    const first = await server.deploy(project, makePageArchive("one"))
    const second = await server.deploy(project, makePageArchive("two"))
    const name = new URL(first.url).pathname.split("/")[2] ?? ""
    return { project, first, second, name, url: first.url, path: `/v1/deployments/${name}` }
  }
  const readPage = async (url: string) => (await server.call("GET", url, { token: null })).body

  it("serves the earlier version until another is promoted, and each version has an address", async () => {
    const { call, deploy } = server
    const { project, first, second, path, url } = await deployTwo()
    expect((await call("GET", path)).body).not.toHaveProperty("isPinned")
    const pinned = await call("POST", `${path}/rollback`, { body: { version: first.id } })
    expect(pinned).toMatchObject({ status: 200, body: { isPinned: true, state: "STARTED", url } })
    expect((await call("GET", path)).body).toEqual(pinned.body)
    expect(await readPage(url)).toBe("one")

    const third = await deploy(project, makePageArchive("three"))
    expect(third).toMatchObject({
      status: "SUCCESS",
      steps: { check: { status: "done" }, publish: { status: "skipped", message: "waits for promote" } }
    })
    expect(third.steps.publish).not.toHaveProperty("startedOn")
    expect(third.buildResult.log.at(-1)).toBe("Waits for promote")
    expect(third.url).toMatch(new RegExp(`^${server.url}/sites/v-[a-z2-7]{20}/$`))
    expect(await readPage(third.url)).toBe("three")
    expect(await readPage(url)).toBe("one")
    const versions = (await call("GET", `${path}/versions`)).body.data
    expect(versions).toMatchObject([
      { id: third.id, isServed: false, isKept: true, url: third.url },
      { id: second.id, isServed: false, isKept: true },
      { id: first.id, isServed: true, isKept: true }
    ])
    expect(await readPage(versions[1].url)).toBe("two")
    expect(await readPage(versions[2].url)).toBe("one")

    const promoted = await call("POST", `${path}/promote`)
    expect(promoted.status).toBe(200)
    expect(promoted.body).not.toHaveProperty("isPinned")
    expect(await readPage(url)).toBe("three")
    expect(await server.status(project, third.id)).toMatchObject({ url, steps: { publish: { status: "done" } } })
    expect(await readPage(third.url)).toBe("three")
    await deploy(project, makePageArchive("four"))
    expect(await readPage(url)).toBe("four")
    expect((await call("POST", `${path}/promote`, { body: { version: second.id } })).status).toBe(200)
    expect(await readPage(url)).toBe("two")
    expect(await call("DELETE", path)).toMatchObject({ status: 204 })
    for (const address of [url, third.url, versions[1].url]) {
      expect((await call("GET", address, { token: null })).status).toBe(404)
    }
    expect(server.onDisk().releases.filter((id) => id.startsWith(project))).toEqual([])
  })

  it("is applied once for each idempotency key", async () => {
    const { call } = server
    const { first, second, path } = await deployTwo()
    const headers = { "idempotency-key": `rollback-${count}` }
    const send = (version: string) => call("POST", `${path}/rollback`, { body: { version }, headers })
    const pinned = await send(first.id)
    await call("POST", `${path}/promote`)
    const promoted = await call("GET", path)
    expect((await send(first.id)).body).toEqual(pinned.body)
    expect((await send(second.id)).status).toBe(422)
    expect((await call("GET", path)).body).toEqual(promoted.body)
    // A request that changes nothing is remembered too.
    const again = { "idempotency-key": `promote-${count}` }
    expect((await call("POST", `${path}/promote`, { headers: again })).body).toEqual(promoted.body)
    await call("POST", `${path}/rollback`, { body: { version: first.id } })
    expect((await call("POST", `${path}/promote`, { headers: again })).body).toEqual(promoted.body)
    expect((await call("GET", path)).body.isPinned).toBe(true)
  })

  it("refuses versions that are not kept, and invalid requests", async () => {
    const { call } = server
    const { first, path, name } = await deployTwo()
    const refused = await call("POST", `${path}/rollback`, { body: { version: unknown } })
    expect(refused).toMatchObject({
      status: 409,
      body: {
        type: "urn:tollgate:problem:release-not-kept",
        code: "release-not-kept",
        deployment: name,
        version: unknown
      }
    })
    expect((await call("POST", `${path}/promote`, { body: { version: unknown } })).status).toBe(409)
    for (const body of [{}, { version: "x" }, { version: null }, { version: first.id, more: 1 }, undefined]) {
      expect((await call("POST", `${path}/rollback`, { body })).status, JSON.stringify(body)).toBe(400)
    }
    for (const body of [{ version: "x" }, { version: null }, { more: 1 }, []]) {
      expect((await call("POST", `${path}/promote`, { body })).status, JSON.stringify(body)).toBe(400)
    }
    const body = { version: first.id }
    for (const operation of ["rollback", "promote"]) {
      const to = (name: string) => `/v1/deployments/${name}/${operation}`
      expect((await call("POST", to("nonsense"), { body })).status).toBe(404)
      expect((await call("POST", to(name), { body, token: tokens.otherAccount })).status).toBe(404)
      expect((await call("POST", to(name), { body, token: tokens.reader })).status).toBe(403)
      expect((await call("POST", to(name), { body, token: null })).status).toBe(401)
      expect((await call("GET", to(name))).status).toBe(405)
    }
    // An address is not the name of a deployment.
    const address = (await call("GET", `${path}/versions`)).body.data[0].url.split("/").at(-2)
    for (const method of ["GET", "DELETE"]) expect((await call(method, `/v1/deployments/${address}`)).status).toBe(404)
  })

  it("refuses a version whose files are lost, and changes nothing", async () => {
    const { call } = server
    const { project, first, second, path, name, url } = await deployTwo()
    const inRelease = (...names: ReadonlyArray<string>) =>
      join(server.folder, "releases", `${name}.${first.id}.1`, ...names)
    const [file = ""] = readdirSync(inRelease("files"))
    const before = await call("GET", path)
    const damages: ReadonlyArray<readonly [string, () => void]> = [
      ["a file is shorter", () => truncateSync(inRelease("files", file), 1)],
      ["a file is missing", () => rmSync(inRelease("files", file))],
      ["the manifest is missing", () => rmSync(inRelease("manifest"))],
      ["the folder is missing", () => rmSync(inRelease(), { recursive: true })]
    ]
    for (const [damage, make] of damages) {
      make()
      for (const operation of ["rollback", "promote"]) {
        const refused = await call("POST", `${path}/${operation}`, { body: { version: first.id } })
        expect(refused, damage).toMatchObject({
          status: 409,
          body: { code: "release-not-kept", deployment: name, version: first.id, isLost: true }
        })
        expect(refused.body.detail).toMatch(/files .* are lost\. Upload its source again/)
      }
      expect((await call("GET", path)).headers.get("etag"), damage).toBe(before.headers.get("etag"))
      expect(await readPage(url)).toBe("two")
    }
    await expect(
      server.gate.account("acme").project(project).deployments.rollback(name, { version: first.id })
    ).rejects.toMatchObject({ _tag: "ReleaseNotKept", isLost: true })
    // What is served already is not looked for, and another version can be served.
    expect((await call("POST", `${path}/rollback`, { body: { version: second.id } })).status).toBe(200)
    await server.deploy(project, makePageArchive("three"))
    expect((await call("POST", `${path}/rollback`, { body: { version: second.id } })).status).toBe(200)
    expect(await readPage(url)).toBe("two")
    // The only change has the only event.
    const readEvents = async () =>
      (await call("GET", "/v1/accounts/acme/events?limit=50")).body.data.flatMap(
        ({ type, subject }: { type: string; subject: { id: string } }) =>
          subject.id === name && /rolled_back|promoted/.test(type) ? [type] : []
      )
    await expect.poll(readEvents).toEqual(["deployment.rolled_back"])
  })

  it("does the same in process", async () => {
    const { first, second, project, name, url } = await deployTwo()
    const { deployments } = server.gate.account("acme").project(project)
    expect(await deployments.rollback(name, { version: first.id })).toMatchObject({ name, isPinned: true })
    expect(await readPage(url)).toBe("one")
    await expect(deployments.rollback(name, { version: unknown })).rejects.toMatchObject({
      _tag: "ReleaseNotKept",
      version: unknown
    })
    expect(await deployments.promote(name)).not.toHaveProperty("isPinned")
    expect(await readPage(url)).toBe("two")
    expect(await deployments.promote(name, { version: second.id }, { idempotencyKey: "again" })).toMatchObject({ name })
  })
})
