import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stores, tokens } from "../../core/test/stores.ts"
import { makePageArchive } from "./archives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe.each(stores)("deployments over HTTP, on %s", (_, store) => {
  let server: TestServer
  let count = 0
  const newProject = () => `project-${++count}`
  beforeAll(async () => {
    server = await startTestServer(store, { sourceLimit: 300_000 })
  })
  afterAll(() => server.close())

  it("are uploaded, polled, served, replaced without downtime, and removed", async () => {
    const { call, createSource: source, put, waitForEnd: ended } = server
    const project = newProject()
    const { uploadUrl, id } = await source(project, "Main/Line")
    expect(uploadUrl).toMatch(
      new RegExp(`^${server.url}/v1/uploads/[0-9a-f-]{36}\\.tar\\.gz\\?expires=\\d+&signature=[0-9a-f]{64}$`)
    )
    expect(id).toMatch(uuid)
    const statusPath = `/v1/accounts/acme/projects/${project}/deployment-status/${id}`
    expect(await call("GET", statusPath)).toMatchObject({
      status: 404,
      body: { type: "urn:tollgate:problem:status-not-found" }
    })

    const archive = makePageArchive("<h1>one</h1>", { name: "docs/a.txt", content: "a" })
    const digest = createHash("sha256").update(archive).digest("hex")
    expect(await put(uploadUrl, archive)).toMatchObject({ status: 200, body: { id, digest, bytes: archive.length } })
    const status = await ended(project, id)
    const done = { status: "done", startedOn: timestamp, finishedOn: timestamp }
    const name = status.url.split("/").at(-2) ?? ""
    expect(name).toMatch(new RegExp(`^${project}-main-line-[a-z2-7]{12}$`))
    const url = `${server.url}/sites/${name}/`
    expect(status).toEqual({
      status: "SUCCESS",
      url,
      steps: { upload: done, unpack: done, build: { status: "skipped" }, check: done, publish: done },
      buildResult: {
        digest,
        files: 2,
        bytes: 13,
        log: [`Received ${archive.length} bytes`, "Unpacked 2 files, 13 bytes", "Checked /index.html", "Published"]
      }
    })
    expect(Object.keys(status.steps)).toEqual(["upload", "unpack", "build", "check", "publish"])
    expect((await call("GET", statusPath)).headers.get("etag")).toMatch(/^"\d+"$/)

    const read = await call("GET", `/v1/deployments/${name}`)
    expect(read.body).toEqual({
      name,
      url,
      label: "Main/Line",
      urlParameter: name,
      createdOn: timestamp,
      updatedOn: timestamp,
      loggingId: `acme::${project}::Main/Line::${name}`,
      accountName: "acme",
      projectName: project,
      state: "STARTED",
      message: "",
      branchName: "Main/Line",
      environmentType: "PREVIEW"
    })
    expect(await call("GET", `/v1/accounts/acme/projects/${project}/deployments`)).toMatchObject({
      status: 200,
      body: { data: [read.body], limit: 1000, offset: 0, total: 1 }
    })
    expect(await call("GET", url, { token: null })).toMatchObject({ status: 200, body: "<h1>one</h1>" })

    const next = await source(project, "Main/Line")
    let requests = 0
    let isReplaced = false
    const seen = new Map<string, number>()
    const poll = async () => {
      while (requests < 1000 || !isReplaced) {
        requests++
        const { status, body } = await call("GET", url, { token: null })
        seen.set(`${status} ${body}`, (seen.get(`${status} ${body}`) ?? 0) + 1)
      }
    }
    const polling = Promise.all(Array.from({ length: 8 }, poll))
    expect((await put(next.uploadUrl, makePageArchive("<h1>two</h1>"))).status).toBe(200)
    expect((await ended(project, next.id)).status).toBe("SUCCESS")
    expect(await call("GET", url)).toMatchObject({ body: "<h1>two</h1>" })
    isReplaced = true
    await polling
    expect(requests).toBeGreaterThanOrEqual(1000)
    expect([...seen.keys()].sort()).toEqual(["200 <h1>one</h1>", "200 <h1>two</h1>"])
    expect((await call("GET", `/v1/accounts/acme/projects/${project}/deployments`)).body.total).toBe(1)

    await expect.poll(() => server.onDisk().sources).toHaveLength(1)
    expect(server.onDisk()).toMatchObject({ staging: [], releases: { length: 2 } })
    const stale = (await call("DELETE", `/v1/deployments/${name}`, { headers: { "if-match": '"1"' } })).status
    expect(stale).toBe(412)
    expect(await call("DELETE", `/v1/deployments/${name}`)).toMatchObject({ status: 204, body: "" })
    for (const path of [statusPath, `/v1/deployments/${name}`, url, `${url}docs/a.txt`]) {
      expect((await call("GET", path)).status, path).toBe(404)
    }
    expect((await call("DELETE", `/v1/deployments/${name}`)).status).toBe(404)
    expect((await call("POST", `/v1/deployments/${name}/deploy`)).status).toBe(404)
    expect((await call("GET", `/v1/accounts/acme/projects/${project}/deployments`)).body.data).toEqual([])
    expect(server.onDisk()).toEqual({ sources: [], staging: [], releases: [] })
  })

  it("can be deployed again from the same source", async () => {
    const { call, deploy, waitForEnd: ended } = server
    const project = newProject()
    const { id, url } = await deploy(project, makePageArchive("again"))
    const name = url.split("/").at(-2)
    expect(await call("POST", `/v1/deployments/${name}/deploy`)).toMatchObject({
      status: 200,
      body: { status: "request enqueued" }
    })
    const status = await ended(project, id)
    expect(status).toMatchObject({ status: "SUCCESS", buildResult: { files: 1 } })
    expect((await call("GET", url)).body).toBe("again")

    const headers = { "idempotency-key": `deploy ${project}` }
    expect((await call("POST", `/v1/deployments/${name}/deploy`, { headers })).status).toBe(400)
    // The endpoint has no payload, so it rejects a body with content.
    expect((await call("POST", `/v1/deployments/${name}/deploy`, { body: { branch: "other" } })).status).toBe(400)
    const once = { "idempotency-key": `deploy-${project}` }
    const first = await call("POST", `/v1/deployments/${name}/deploy`, { headers: once })
    await ended(project, id)
    const etag = (await call("GET", `/v1/deployments/${name}`)).headers.get("etag")
    expect((await call("POST", `/v1/deployments/${name}/deploy`, { headers: once })).body).toEqual(first.body)
    expect((await call("GET", `/v1/deployments/${name}`)).headers.get("etag")).toBe(etag)
  })

  it("show PRODUCTION for the production branch, and accept any branch name", async () => {
    const { call, deploy } = server
    const project = newProject()
    const { url } = await deploy(project, makePageArchive("x"))
    const name = url.split("/").at(-2) ?? ""
    expect((await call("GET", `/v1/deployments/${name}`)).body.environmentType).toBe("PRODUCTION")
    for (const branch of ["日本", "-", "a".repeat(255), "feature/ÄÖÜ#1"]) {
      const deployed = await deploy(project, makePageArchive(branch), branch)
      const { pathname } = new URL(deployed.url)
      expect(pathname).toMatch(/^\/sites\/[a-z0-9][a-z0-9-]{0,49}-[a-z2-7]{12}\/$/)
      expect((await call("GET", pathname)).body).toBe(branch)
    }
    const page = (await call("GET", `/v1/accounts/acme/projects/${project}/deployments?limit=2&offset=1`)).body
    expect(page).toMatchObject({ limit: 2, offset: 1, total: 5, data: [{ label: "日本" }, { label: "-" }] })
  })

  it("reject invalid input and name the field", async () => {
    const { call } = server
    const valid = { accountName: "acme", projectName: "p", branchName: "b" }
    const post = (body: unknown, options: object = {}) => call("POST", "/v1/deployments/sources", { body, ...options })
    expect(await post({ ...valid, branchName: "" })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "/branchName" }] }
    })
    expect((await post({ ...valid, branchName: "a\nb" })).status).toBe(400)
    expect((await post({ ...valid, branchName: "a".repeat(256) })).status).toBe(400)
    expect(await post({ ...valid, projectName: "a/b" })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "/projectName" }] }
    })
    expect(await post({ ...valid, extra: 1 })).toMatchObject({ status: 400, body: { errors: [{ pointer: "/extra" }] } })
    expect((await post({ accountName: "acme" })).status).toBe(400)
    expect((await post(undefined)).status).toBe(400)
    expect((await post({ ...valid, accountName: "other" })).status).toBe(403)
    expect((await post(valid, { token: tokens.reader })).status).toBe(403)
    expect((await post(valid, { token: null })).status).toBe(401)
    expect((await post(valid, { token: tokens.admin })).status).toBe(200)
    expect((await call("GET", "/v1/accounts/acme/projects/p/deployments?limit=0")).status).toBe(400)
    expect((await call("GET", "/v1/accounts/acme/projects/p/deployments?branch=x")).status).toBe(400)
    expect((await call("GET", "/v1/accounts/acme/projects/p/deployment-status/nonsense")).status).toBe(404)
    expect((await call("GET", "/v1/deployments/nonsense")).status).toBe(404)
    expect(await call("PATCH", "/v1/deployments/nonsense")).toMatchObject({ status: 405 })
    const once = { "idempotency-key": `source-${++count}` }
    const [first, second] = [await post(valid, { headers: once }), await post(valid, { headers: once })]
    expect(second.body).toEqual(first.body)
    expect((await post({ ...valid, branchName: "other" }, { headers: once })).status).toBe(422)
  })

  it("are accessible to their account only", async () => {
    const { call, deploy } = server
    const project = newProject()
    const { url, id } = await deploy(project, makePageArchive("mine"))
    const name = url.split("/").at(-2)
    const token = tokens.otherAccount
    for (const [method, path] of [
      ["GET", `/v1/deployments/${name}`],
      ["DELETE", `/v1/deployments/${name}`],
      ["POST", `/v1/deployments/${name}/deploy`]
    ] as const) {
      expect((await call(method, path, { token })).status).toBe(404)
      expect((await call(method, path, { token: null })).status).toBe(401)
    }
    for (const path of [`deployment-status/${id}`, "deployments"]) {
      expect((await call("GET", `/v1/accounts/acme/projects/${project}/${path}`, { token })).status).toBe(403)
      expect((await call("GET", `/v1/accounts/other/projects/${project}/${path}`)).status).toBe(403)
    }
    const elsewhere = `/v1/accounts/acme/projects/other/deployment-status/${id}`
    expect((await call("GET", elsewhere)).status).toBe(404)
    for (const [method, path] of [
      ["DELETE", `/v1/deployments/${name}`],
      ["POST", `/v1/deployments/${name}/deploy`]
    ] as const) {
      expect((await call(method, path, { token: tokens.reader })).status).toBe(403)
    }
    expect((await call("GET", `/v1/deployments/${name}`, { token: tokens.reader })).status).toBe(200)
  })

  describe("an upload", () => {
    it("requires an unmodified upload URL", async () => {
      const { createSource: source, put, url } = server
      const { uploadUrl, id } = await source(newProject())
      const archive = makePageArchive("x")
      const modify = (change: (url: URL) => void) => {
        const url = new URL(uploadUrl)
        change(url)
        return url.href
      }
      const modifiedUrls = [
        modify(({ searchParams }) => searchParams.delete("signature")),
        modify(({ searchParams }) => searchParams.set("signature", "0".repeat(64))),
        modify(({ searchParams }) => searchParams.set("signature", "")),
        modify(({ searchParams }) => searchParams.set("expires", String(Date.now() + 9e6))),
        modify((url) => {
          url.pathname = `/v1/uploads/${id.replace(/^./, (digit) => (digit === "0" ? "1" : "0"))}.tar.gz`
        }),
        `${url}/v1/uploads/nonsense`
      ]
      for (const modifiedUrl of modifiedUrls) {
        expect(await put(modifiedUrl, archive), modifiedUrl).toMatchObject({
          status: 403,
          body: { type: "urn:tollgate:problem:upload-forbidden" }
        })
      }
      expect((await put(uploadUrl, archive)).status).toBe(200)
      expect(await put(uploadUrl, archive)).toMatchObject({
        status: 409,
        body: { type: "urn:tollgate:problem:already-uploaded" }
      })
    })

    it("is accepted once when several arrive concurrently", async () => {
      const { createSource: source, put, waitForEnd: ended } = server
      const project = newProject()
      const { uploadUrl, id } = await source(project)
      const responses = await Promise.all(
        Array.from({ length: 6 }, (_, index) => put(uploadUrl, makePageArchive(`number ${index}`)))
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
      const winner = responses.findIndex(({ status }) => status === 200)
      const { url, buildResult } = await ended(project, id)
      expect(buildResult.digest).toBe(responses[winner]?.body.digest)
      expect((await server.call("GET", url)).body).toBe(`number ${winner}`)
      expect(server.onDisk().sources.filter((key) => key.includes(id))).toHaveLength(1)
    })

    it("does not modify the buffers of an in-process caller", async () => {
      const { gate, waitForEnd: ended, call } = server
      const project = newProject()
      const archive = makePageArchive("kept")
      const before = Buffer.from(archive)
      for (const source of [
        archive,
        new ReadableStream<Uint8Array>({
          start: (controller) => {
            controller.enqueue(archive)
            controller.close()
          }
        })
      ]) {
        const { deployments } = gate.account("acme").project(project)
        const { uploadUrl } = await deployments.createSource({ branchName: "main" })
        const { id, bytes } = await deployments.upload(uploadUrl, source)
        expect(bytes).toBe(archive.length)
        expect(archive.equals(before)).toBe(true)
        const { url } = await ended(project, id)
        expect((await call("GET", url)).body).toBe("kept")
      }
    })

    it("may be as large as the limit, and no larger", async () => {
      const { createSource: source, put, url } = server
      const { uploadUrl, id } = await source(newProject())
      expect(await put(uploadUrl, Buffer.alloc(300_001))).toMatchObject({ status: 413 })
      const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(50_000)) })
      const streamed = await fetch(uploadUrl, { method: "PUT", body: endless, duplex: "half" } as RequestInit).then(
        ({ status }) => status,
        // The server may respond and close the connection while the client is still sending.
        () => 413
      )
      expect(streamed).toBe(413)
      expect(server.onDisk().sources.filter((key) => key.includes(id))).toEqual([])
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      expect((await put(uploadUrl, Buffer.alloc(300_000))).status).toBe(200)
    })

    it("must match its Content-Digest", async () => {
      const { createSource: source, put } = server
      const { uploadUrl, id } = await source(newProject())
      const archive = makePageArchive("x")
      const digest = (algorithm: string, content: Uint8Array) => createHash(algorithm).update(content).digest("base64")
      const invalidDigests = [
        `sha-256=:${digest("sha256", Buffer.from("other"))}:`,
        `sha-256=:${digest("sha256", archive)}:, sha-512=:${digest("sha512", Buffer.from("other"))}:`,
        "sha-256=nonsense",
        "md5=:abc=:"
      ]
      for (const header of invalidDigests) {
        expect(await put(uploadUrl, archive, { "content-digest": header }), header).toMatchObject({
          status: 400,
          body: { errors: [{ parameter: "Content-Digest" }] }
        })
      }
      expect((await put(uploadUrl, new Uint8Array())).status).toBe(400)
      expect((await put(uploadUrl, archive, { "content-encoding": "gzip" })).status).toBe(415)
      expect(server.onDisk().sources.filter((key) => key.includes(id))).toEqual([])
      const header = `sha-512=:${digest("sha512", archive)}:, sha-256=:${digest("sha256", archive)}:`
      expect((await put(uploadUrl, archive, { "content-digest": header })).status).toBe(200)
    })
  })

  it("report why a source was rejected, and keep serving the previous release", async () => {
    const { deploy, call } = server
    const project = newProject()
    const invalid = makePageArchive("x", { name: "../evil", content: "x" })
    const rejected = await deploy(project, invalid)
    const name = rejected.url.split("/").at(-2)
    expect(rejected).toMatchObject({
      status: "ERROR",
      steps: {
        upload: { status: "done" },
        unpack: {
          status: "failed",
          message: '"../evil" points outside the archive',
          startedOn: timestamp,
          finishedOn: timestamp
        },
        build: { status: "skipped" },
        check: { status: "skipped" },
        publish: { status: "skipped" }
      },
      buildResult: { error: '"../evil" points outside the archive', files: 0 }
    })
    expect((await call("GET", `/v1/deployments/${name}`)).body).toMatchObject({
      state: "ERRORED",
      message: "source-rejected"
    })
    expect((await call("GET", rejected.url)).status).toBe(404)

    await deploy(project, makePageArchive("good"))
    expect((await call("GET", `/v1/deployments/${name}`)).body).toMatchObject({ state: "STARTED", message: "" })
    await deploy(project, invalid)
    expect((await call("GET", `/v1/deployments/${name}`)).body).toMatchObject({
      state: "STARTED",
      message: "source-rejected"
    })
    expect((await call("GET", rejected.url)).body).toBe("good")
    await expect.poll(() => server.onDisk().staging).toEqual([])
  })

  it("accept many uploads, and are removed completely", async () => {
    const { createSource: source, put, call, waitForEnd: ended } = server
    const project = newProject()
    const created = await Promise.all(Array.from({ length: 40 }, () => source(project)))
    for (const { uploadUrl } of created) expect((await put(uploadUrl, makePageArchive(uploadUrl))).status).toBe(200)
    const last = created.at(-1)?.id ?? ""
    const { url } = await ended(project, last)
    const isOfThese = (name: string) => created.some(({ id }) => name.includes(id))
    await expect.poll(() => server.onDisk().sources.filter(isOfThese)).toEqual([expect.stringContaining(last)])
    await expect.poll(() => server.onDisk().releases.filter(isOfThese).length).toBeLessThanOrEqual(10)
    await expect.poll(() => server.onDisk().staging.filter(isOfThese)).toEqual([])
    expect((await call("DELETE", `/v1/deployments/${url.split("/").at(-2)}`)).status).toBe(204)
    expect(Object.values(server.onDisk()).flat().filter(isOfThese)).toEqual([])
    for (const { id } of created) {
      expect((await call("GET", `/v1/accounts/acme/projects/${project}/deployment-status/${id}`)).status).toBe(404)
    }
    // A used upload URL stays used after its deployment is removed.
    expect((await put(created[0]?.uploadUrl ?? "", makePageArchive("again"))).status).toBe(409)
  })

  it("keep the last ten versions with their releases, and the last source", async () => {
    const { deploy, call } = server
    const project = newProject()
    const ids: Array<string> = []
    for (let version = 0; version < 13; version++)
      ids.push((await deploy(project, makePageArchive(`version ${version}`))).id)
    const path = (id: string) => `/v1/accounts/acme/projects/${project}/deployment-status/${id}`
    await expect
      .poll(async () => Promise.all(ids.map(async (id) => (await call("GET", path(id))).status)))
      .toEqual([...Array(3).fill(404), ...Array(10).fill(200)])
    const findIds = (names: ReadonlyArray<string>) => ids.filter((id) => names.some((name) => name.includes(id)))
    await expect.poll(() => findIds(server.onDisk().sources)).toEqual(ids.slice(-1))
    await expect.poll(() => findIds(server.onDisk().releases)).toEqual(ids.slice(-10))
  })
})
