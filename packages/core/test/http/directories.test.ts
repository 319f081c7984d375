/**
 * What exists: the caller, accounts, key buckets, projects, and the versions of a deployment.
 */
import { createHash } from "node:crypto"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { eventually } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const asAdmin = { token: tokens.admin }
const asReader = { token: tokens.reader }
const asOther = { token: tokens.otherAccount }

interface Item {
  readonly name: string
}
const getNames = (response: { readonly body: { readonly data: ReadonlyArray<Item> } }) =>
  response.body.data.map(({ name }) => name)

describe.each(stores)("what exists over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({
      store,
      secret,
      tokens: grants,
      publicUrl: "http://gate",
      modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
    })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const createConsumer = (account: string, bucket: string, name = "alice") =>
    call("POST", `/v1/accounts/${account}/key-buckets/${bucket}/consumers`, { ...asAdmin, body: { name } })

  /** Uploads a source, waits until its run has ended, and returns its id. */
  const deploy = async (accountName: string, projectName: string, source: string, branchName = "main") => {
    const body = { accountName, projectName, branchName }
    const { uploadUrl } = (await call("POST", "/v1/deployments/sources", { ...asAdmin, body })).body
    const raw = new TextEncoder().encode(source)
    const uploaded = await call("PUT", uploadUrl.slice("http://gate".length), { raw, token: null })
    expect(uploaded.status).toBe(200)
    const project = `/v1/accounts/${accountName}/projects/${projectName}`
    await eventually(async () => {
      const status = await call("GET", `${project}/deployment-status/${uploaded.body.id}`, asAdmin)
      expect(status.body.status).toBe("SUCCESS")
    })
    return uploaded.body.id as string
  }

  const listDeployments = async (account: string, project: string): Promise<ReadonlyArray<Item>> =>
    (await call("GET", `/v1/accounts/${account}/projects/${project}/deployments`, asAdmin)).body.data

  describe("the caller", () => {
    it("is described by its account, its access and its id", async () => {
      const writer = (await call("GET", "/v1/me")).body
      expect(writer).toEqual({ accountName: "acme", access: "write", id: expect.stringMatching(/^.+$/) })
      const reader = (await call("GET", "/v1/me", asReader)).body
      expect(reader).toMatchObject({ accountName: "acme", access: "read" })
      expect(reader.id).not.toBe(writer.id)
      expect((await call("GET", "/v1/me", asAdmin)).body).toMatchObject({ accountName: "*", access: "write" })
      expect((await call("GET", "/v1/me", { token: null })).status).toBe(401)
      expect((await call("POST", "/v1/me")).status).toBe(405)
    })
  })

  describe("accounts", () => {
    it("are listed from their first key bucket, metering bucket or project, for callers for all accounts only", async () => {
      await createConsumer("with-keys", "production")
      await call("POST", "/v1/metering", { ...asAdmin, body: { accountName: "with-metering" } })
      await deploy("with-sites", "web", "a source")
      await createConsumer("with-keys", "staging")
      const all = await call("GET", "/v1/accounts", asAdmin)
      expect(all.body).toMatchObject({ limit: 1000, offset: 0, total: all.body.data.length })
      const created = ["with-keys", "with-metering", "with-sites"]
      expect(getNames(all).filter((name) => created.includes(name))).toEqual(created)
      for (const account of all.body.data) expect(account).toEqual({ name: expect.any(String), createdOn: timestamp })
      for (const token of [tokens.writer, tokens.reader, tokens.otherAccount]) {
        expect(await call("GET", "/v1/accounts", { token })).toMatchObject({ status: 403, body: { code: "forbidden" } })
      }
      expect((await call("GET", "/v1/accounts", { token: null })).status).toBe(401)
    })

    it("are listed in pages", async () => {
      for (const account of ["page-1", "page-2", "page-3"]) await createConsumer(account, "b")
      const all = getNames(await call("GET", "/v1/accounts", asAdmin))
      const page = await call("GET", `/v1/accounts?limit=2&offset=${all.length - 3}`, asAdmin)
      expect(page.body).toMatchObject({ limit: 2, offset: all.length - 3, total: all.length })
      expect(getNames(page)).toEqual(["page-1", "page-2"])
      for (const query of ["limit=0", "offset=-1", "name=acme"]) {
        expect((await call("GET", `/v1/accounts?${query}`, asAdmin)).status).toBe(400)
      }
    })

    it("stay listed when their content is removed", async () => {
      const bucket = await call("POST", "/v1/metering", { ...asAdmin, body: { accountName: "emptied" } })
      expect((await call("DELETE", `/v1/metering/${bucket.body.id}`, asAdmin)).status).toBe(204)
      expect(getNames(await call("GET", "/v1/accounts", asAdmin))).toContain("emptied")
    })
  })

  describe("key buckets", () => {
    it("are listed in pages, for their own account, and stay listed when their consumers are removed", async () => {
      const path = "/v1/accounts/acme/key-buckets"
      for (const bucket of ["first", "second", "third"]) {
        expect((await createConsumer("acme", bucket)).status).toBe(200)
      }
      await createConsumer("acme", "first", "bob")
      await createConsumer("other", "theirs")
      const all = await call("GET", path)
      expect(all.body).toEqual({
        data: ["first", "second", "third"].map((name) => ({ name, createdOn: timestamp })),
        limit: 1000,
        offset: 0,
        total: 3
      })
      const page = await call("GET", `${path}?limit=1&offset=1`, asReader)
      expect(page.body).toMatchObject({ data: [{ name: "second" }], limit: 1, offset: 1, total: 3 })
      expect((await call("GET", path, asOther)).status).toBe(403)
      expect(getNames(await call("GET", "/v1/accounts/other/key-buckets", asOther))).toEqual(["theirs"])
      expect((await call("GET", "/v1/accounts/nobody/key-buckets", asAdmin)).body).toMatchObject({ data: [], total: 0 })
      expect((await call("GET", `${path}?tag.a=b`)).status).toBe(400)
      expect((await call("DELETE", `${path}/second/consumers/alice`)).status).toBe(204)
      expect(getNames(await call("GET", path))).toEqual(["first", "second", "third"])
    })
  })

  describe("projects", () => {
    it("are listed in pages while they have a deployment, for their own account", async () => {
      const path = "/v1/accounts/acme/projects"
      expect((await call("GET", path)).body).toMatchObject({ data: [], total: 0 })
      for (const project of ["docs", "shop"]) await deploy("acme", project, "a source")
      await deploy("acme", "docs", "a source", "preview")
      await deploy("other", "theirs", "a source")
      expect((await call("GET", path, asReader)).body).toEqual({
        data: ["docs", "shop"].map((name) => ({ name, createdOn: timestamp })),
        limit: 1000,
        offset: 0,
        total: 2
      })
      expect(getNames(await call("GET", `${path}?limit=1&offset=1`))).toEqual(["shop"])
      expect((await call("GET", path, asOther)).status).toBe(403)
      expect(getNames(await call("GET", "/v1/accounts/other/projects", asOther))).toEqual(["theirs"])
      for (const [index, { name }] of (await listDeployments("acme", "docs")).entries()) {
        expect((await call("DELETE", `/v1/deployments/${name}`)).status).toBe(204)
        expect(getNames(await call("GET", path))).toEqual(index === 0 ? ["docs", "shop"] : ["shop"])
      }
    })
  })

  describe("versions of a deployment", () => {
    it("are listed newest first, in pages, with what they serve", async () => {
      const sources = ["one", "number two", "three"]
      const ids: Array<string> = []
      for (const source of sources) ids.push(await deploy("acme", "versions", source))
      const [deployment] = await listDeployments("acme", "versions")
      const path = `/v1/deployments/${deployment?.name}/versions`
      const newestFirst = sources
        .map((source, index) => ({
          id: ids[index],
          createdOn: timestamp,
          status: "SUCCESS",
          digest: createHash("sha256").update(source).digest("hex"),
          bytes: source.length,
          isServed: source === "three",
          isKept: true,
          url: expect.stringMatching(/^http:\/\/gate\/sites\/v-[a-z2-7]{20}\/$/)
        }))
        .reverse()
      expect((await call("GET", path, asReader)).body).toEqual({ data: newestFirst, limit: 1000, offset: 0, total: 3 })
      for (const [offset, limit] of [
        [0, 2],
        [2, 2],
        [1, 1],
        [3, 1],
        [7, 5]
      ] as const) {
        expect((await call("GET", `${path}?limit=${limit}&offset=${offset}`)).body).toEqual({
          data: newestFirst.slice(offset, offset + limit),
          limit,
          offset,
          total: 3,
          ...(offset + limit < 3 ? { next: expect.any(String) } : {})
        })
      }
      const { next } = (await call("GET", `${path}?limit=1`)).body
      expect((await call("GET", `${path}?limit=2&after=${next}`)).body).toEqual({
        data: newestFirst.slice(1),
        limit: 2,
        offset: 0,
        total: 3
      })
      for (const after of ["", "-1", "01", "1.5", "x", "1".repeat(16), `${next}&after=${next}`]) {
        expect(await call("GET", `${path}?after=${after}`)).toMatchObject({
          status: 400,
          body: { errors: [{ parameter: "after" }] }
        })
      }
      expect((await call("GET", `${path}?status=SUCCESS`)).status).toBe(400)
      for (const [url, options] of [
        [path, asOther],
        ["/v1/deployments/unknown/versions", {}]
      ] as const) {
        expect(await call("GET", url, options)).toMatchObject({ status: 404, body: { code: "deployment-not-found" } })
      }
      expect((await call("DELETE", `/v1/deployments/${deployment?.name}`)).status).toBe(204)
      expect((await call("GET", path)).status).toBe(404)
    })
  })
})
