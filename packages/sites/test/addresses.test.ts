/**
 * The addresses of versions, and attacks on them: each serves one content, on an origin of its own, or nothing.
 */
import { createHash, createHmac } from "node:crypto"
import { domainToASCII } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { secret, stores, tokens } from "../../core/test/stores.ts"
import { makePageArchive } from "./archives.ts"
import { type RequestInput, sendRequest } from "./sendRequest.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

const suffix = "sites.example"
const addressPattern = /^v-[a-z2-7]{20}$/

describe.each(stores)("the address of a version, on %s", (_, store) => {
  let server: TestServer
  let count = 0
  beforeAll(async () => {
    // Each run of the same source makes another content.
    const build = { command: 'printf " %s" "$TOLLGATE_RELEASE" >> index.html' }
    server = await startTestServer(store, { sitesUrl: `https://{name}.${suffix}`, build })
  })
  afterAll(() => server.close())

  const send = (host: string, path = "/", input?: RequestInput) =>
    sendRequest(new URL(server.url).port, host, path, input)
  const read = async (label: string) => {
    const { status, text } = await send(`${label}.${suffix}`)
    return status === 200 ? text : status
  }
  const toLabel = (url: string) => new URL(url).host.split(".")[0] ?? ""

  /** Deploys versions of a new project, one for each page. */
  const deployPages = async (...pages: ReadonlyArray<string>) => {
    const project = `project-${++count}`
    const ids: Array<string> = []
    for (const page of pages) ids.push((await server.deploy(project, makePageArchive(page))).id)
    const name = (await server.call("GET", `/v1/accounts/acme/projects/${project}/deployments`)).body.data[0].name
    return { project, ids, name, path: `/v1/deployments/${name}` }
  }
  const listAddresses = async (path: string): Promise<ReadonlyArray<string>> =>
    (await server.call("GET", `${path}/versions`)).body.data.map(({ url }: { url?: string }) =>
      url === undefined ? undefined : toLabel(url)
    )
  const serve = (path: string, operation: "rollback" | "promote", version: string | undefined) =>
    server.call("POST", `${path}/${operation}`, { body: { version } })

  it("serves one content for ever, or nothing, also if the version is deployed again", async () => {
    const { project, ids, name, path } = await deployPages("one", "two")
    const [first, second] = ids
    const address = (await listAddresses(path))[0] ?? ""
    await serve(path, "rollback", first)
    await serve(path, "rollback", second)
    expect((await server.call("POST", `${path}/deploy`)).status).toBe(200)
    const waiting = await server.waitForEnd(project, second ?? "")
    const next = toLabel(waiting.url)
    expect(next).toMatch(addressPattern)
    expect(next).not.toBe(address)
    expect((await listAddresses(path))[0]).toBe(next)
    const [before, after] = [`two ${name}.${second}.1`, `two ${name}.${second}.2`]
    expect([await read(name), await read(address), await read(next)]).toEqual([before, before, after])
    await serve(path, "promote", undefined)
    expect([await read(name), await read(address), await read(next)]).toEqual([after, 404, after])
    // A run that replaces what is served at once.
    await server.call("POST", `${path}/deploy`)
    await server.waitForEnd(project, second ?? "")
    const last = (await listAddresses(path))[0] ?? ""
    expect([await read(name), await read(next), await read(last)]).toEqual([
      `two ${name}.${second}.3`,
      404,
      `two ${name}.${second}.3`
    ])
  })

  it("serves nothing when its deployment is removed, also after the branch is deployed again", async () => {
    const { project, name, path } = await deployPages("one", "two")
    const addresses = await listAddresses(path)
    expect(await Promise.all(addresses.map(read))).not.toContain(404)
    expect((await server.call("DELETE", path)).status).toBe(204)
    expect(await Promise.all(addresses.map(read))).toEqual([404, 404])
    const again = await server.deploy(project, makePageArchive("three"))
    expect(toLabel(again.url)).toBe(name)
    expect(await read(name)).toMatch(/^three/)
    const fresh = await listAddresses(path)
    expect(fresh).toHaveLength(1)
    expect(addresses).not.toContain(fresh[0])
    expect(await Promise.all(addresses.map(read))).toEqual([404, 404])
  })

  it("is not given to a version that failed", async () => {
    const { project, path } = await deployPages("one")
    const failed = await server.deploy(project, Buffer.from("not an archive"))
    expect(failed.status).toBe("ERROR")
    const [none, address] = await listAddresses(path)
    expect([none, address]).toEqual([undefined, expect.stringMatching(addressPattern)])
  })

  it("cannot be computed or guessed from what others know", async () => {
    const { ids, name, path } = await deployPages("one", "two")
    const addresses = await listAddresses(path)
    const known = ids.flatMap((id) => [id, `${name}.${id}.1`, JSON.stringify(["release", `${name}.${id}.1`])])
    const toAddress = (hash: Buffer) =>
      `v-${[...hash]
        .map((byte) => "abcdefghijklmnopqrstuvwxyz234567"[byte >> 3])
        .join("")
        .slice(0, 20)}`
    const guesses = known.flatMap((text) => [
      ...["sha256", "sha1", "sha512"].map((algorithm) => toAddress(createHash(algorithm).update(text).digest())),
      toAddress(createHmac("sha256", secret).update(text).digest())
    ])
    for (const address of addresses) {
      const last = address.endsWith("a") ? "b" : "a"
      guesses.push(`${address.slice(0, -1)}${last}`, address.slice(0, -1), `${address}a`, address.replace("v-", "w-"))
      // No part of one tells a part of another.
      expect(addresses.filter((other) => other.slice(2, 6) === address.slice(2, 6))).toEqual([address])
      expect(name).not.toContain(address.slice(2, 10))
    }
    for (const guess of guesses) expect(await read(guess), guess).toBe(404)
  })

  it("is not a deployment of the API, and is told to its own account only", async () => {
    const { ids, path } = await deployPages("one", "two")
    const [address = ""] = await listAddresses(path)
    const target = `/v1/deployments/${address}`
    for (const [method, way, body] of [
      ["GET", "", undefined],
      ["GET", "/versions", undefined],
      ["DELETE", "", undefined],
      ["POST", "/deploy", undefined],
      ["POST", "/rollback", { version: ids[0] }],
      ["POST", "/promote", {}]
    ] as const) {
      const own = await server.call(method, `${target}${way}`, { body })
      const other = await server.call(method, `${target}${way}`, { body, token: tokens.otherAccount })
      expect([own.status, other.status], `${method} ${way}`).toEqual([404, 404])
    }
    expect((await server.call("GET", `${path}/versions`, { token: tokens.otherAccount })).status).toBe(404)
    expect(await read(address)).toMatch(/^two/)
  })

  it("is never the name of a branch, whatever the branch is called", async () => {
    const { path } = await deployPages("one")
    const [address = ""] = await listAddresses(path)
    const hash = address.slice(2)
    for (const [project, branch] of [
      ["v", hash],
      ["v", "-"],
      ["v", hash.slice(0, 8)],
      [address, "main"]
    ] as const) {
      const { url } = await server.deploy(project, makePageArchive("branch"), branch)
      expect(toLabel(url), branch).not.toMatch(addressPattern)
      expect(await read(toLabel(url))).toMatch(/^branch/)
    }
    expect(await read(address)).toMatch(/^one/)
  })

  it("is found by its exact host only", async () => {
    const { name, path } = await deployPages("one")
    const [address = ""] = await listAddresses(path)
    for (const host of [address, address.toUpperCase(), `V${address.slice(1)}`]) {
      for (const end of ["", ".", ":443", ".:8080", "..", ".:"]) {
        const { status, text } = await send(`${host}.${suffix}${end}`)
        expect([status, text], `${host}${end}`).toEqual([200, expect.stringMatching(/^one/)])
      }
    }
    const fullWidth = domainToASCII(`ｖ－${address.slice(2)}.${suffix}`)
    // A browser maps it to the address before it sends it, so there are no two names for one origin.
    expect(fullWidth).toBe(`${address}.${suffix}`)
    const cyrillic = domainToASCII(`ѵ-${address.slice(2)}.${suffix}`)
    expect(cyrillic).toMatch(/^xn--/)
    for (const host of [
      cyrillic,
      `xn--${address}.${suffix}`,
      `a.${address}.${suffix}`,
      `${address}.${name}.${suffix}`,
      `${address}.a.${suffix}`,
      `${address}%2e.${suffix}`,
      `${address}_.${suffix}`,
      `x${address}.${suffix}`,
      `${address},${name}.${suffix}`
    ]) {
      expect((await send(host)).status, host).toBe(404)
      expect((await send(host, "/healthz")).status, host).toBe(404)
    }
    for (const host of [`${address}.${suffix}.evil.example`, `${address}.evil.example`, address]) {
      expect((await send(host)).text, host).not.toMatch(/^one/)
    }
    // On the host of the API, it is below `/sites/`, in a sandbox, and in lower case only.
    const sandboxed = await send("127.0.0.1", `/sites/${address}/`)
    expect([sandboxed.status, sandboxed.headers["content-security-policy"]]).toEqual([200, "sandbox"])
    expect((await send("127.0.0.1", `/sites/${address.toUpperCase()}/`)).status).toBe(404)
    expect((await send("127.0.0.1", `/sites/${address}`)).headers["location"]).toBe(`./${address}/`)
    expect((await send("127.0.0.1", `/sites/${address}./`)).status).toBe(404)
    expect((await send(`${address}.${suffix}`, `/sites/${address}/`)).status).toBe(404)
  })

  it("has an origin of its own, which neither sets nor takes credentials", async () => {
    const { path } = await deployPages("one", "two")
    const addresses = await listAddresses(path)
    const origins = (await server.call("GET", `${path}/versions`)).body.data.map(
      ({ url }: { url: string }) => new URL(url).origin
    )
    expect(new Set(origins).size).toBe(2)
    const credentials = { authorization: `Bearer ${tokens.writer}`, cookie: "session=1; __Host-session=2" }
    for (const address of addresses) {
      const host = `${address}.${suffix}`
      const [plain, withCredentials] = [await send(host), await send(host, "/", { headers: credentials })]
      expect(withCredentials.text).toBe(plain.text)
      for (const { headers } of [plain, withCredentials]) {
        expect(headers).not.toHaveProperty("set-cookie")
        expect(headers).not.toHaveProperty("access-control-allow-origin")
        expect(headers["x-content-type-options"]).toBe("nosniff")
      }
      for (const way of ["/v1/me", path, "/v1/accounts/acme", "/healthz"]) {
        expect((await send(host, way, { headers: credentials })).status, way).toBe(404)
      }
      expect((await send(host, `${path}/rollback`, { method: "POST", headers: credentials })).status).toBe(405)
    }
  })

  it("is asked for again by caches, which never show one version for another", async () => {
    const { ids, name, path } = await deployPages("one", "two")
    const [second = "", first = ""] = await listAddresses(path)
    const get = (label: string, etag?: unknown) =>
      send(`${label}.${suffix}`, "/", etag === undefined ? {} : { headers: { "if-none-match": String(etag) } })
    const [one, two, served] = [await get(first), await get(second), await get(name)]
    for (const { headers } of [one, two, served]) expect(headers["cache-control"]).toBe("no-cache")
    expect(one.headers["etag"]).not.toBe(two.headers["etag"])
    expect(served.headers["etag"]).toBe(two.headers["etag"])
    expect((await get(second, one.headers["etag"])).text).toBe(two.text)
    expect((await get(first, one.headers["etag"])).status).toBe(304)
    await serve(path, "rollback", ids[0])
    expect((await get(name, two.headers["etag"])).text).toBe(one.text)
    expect((await get(name, one.headers["etag"])).status).toBe(304)
    await server.call("DELETE", path)
    for (const label of [name, first, second]) {
      const gone = await get(label, one.headers["etag"])
      expect([gone.status, gone.headers["cache-control"]], label).toEqual([404, "no-store"])
    }
  })

  it("serves nothing when its version is not kept any more", async () => {
    const pages = Array.from({ length: 12 }, (_, index) => `page ${index}`)
    const { ids, path } = await deployPages(...pages.slice(0, 1))
    const [pruned = ""] = await listAddresses(path)
    for (const page of pages.slice(1)) await server.deploy(`project-${count}`, makePageArchive(page))
    expect(await read(pruned)).toBe(404)
    const refused = await serve(path, "rollback", ids[0])
    expect([refused.status, refused.body.code]).toEqual([409, "release-not-kept"])
    const addresses = (await listAddresses(path)).filter(Boolean)
    expect(await Promise.all(addresses.map(read))).not.toContain(404)
    expect(addresses).toHaveLength(10)
  })
})
