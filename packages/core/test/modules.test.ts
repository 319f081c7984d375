/**
 * A list of modules: which are on, and what no two of them may have.
 */
import { ConfigurationError, createTollgate, type TollgateOptions } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { Authenticated, DueWork, defineModule, type Module, Owner, type ServedRoute } from "@tollgate/core/module"
import { MemoryStore } from "@tollgate/memory"
import { webhooks } from "@tollgate/webhooks"
import { webhooksClient } from "@tollgate/webhooks/client"
import { Effect, Layer, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { grants, secret, tokens } from "./stores.ts"

const notesPath = "/v1/accounts/:accountName/notes/:id"

const declareGroup = (name: string, path: `/${string}`) =>
  HttpApiGroup.make(name)
    .add(HttpApiEndpoint.get("get", path, { success: Schema.String }))
    .middleware(Authenticated)
    .annotate(Owner, "all-accounts")

/** A module with one endpoint. */
const declare = (name: string, path: `/${string}`, group = name) => ({
  name,
  groups: () => [declareGroup(group, path)]
})

const route = (path: string): ServedRoute => ({
  method: "GET",
  path,
  handler: () => Effect.succeed({ status: 204, headers: {}, body: undefined })
})

const open = (modules: ReadonlyArray<Module>, options: Partial<TollgateOptions> = {}) =>
  createTollgate({ store: MemoryStore.open(), secret, tokens: grants, modules, ...options })

const isTaken = (option: string, problem: string) => expect.objectContaining({ option, problem })

describe("modules", () => {
  const alike = [webhooks(), { name: "events2", events: { "webhook.created": { description: "", data: Schema.Any } } }]
  it.each<readonly [taken: string, modules: ReadonlyArray<Module>]>([
    ["a module webhooks", [webhooks(), webhooks()]],
    ["a module core", [webhooks(), defineModule({ name: "core" })]],
    [
      "a path GET /v1/accounts/:accountName/notes/:noteId",
      [declare("notes", notesPath), declare("remarks", "/v1/accounts/:accountName/notes/:noteId")]
    ],
    ["a path GET /healthz", [webhooks(), declare("health", "/healthz")]],
    ["a path GET /v1/accounts", [webhooks(), declare("tenants", "/v1/accounts")]],
    ["a group notes", [declare("notes", notesPath), declare("remarks", "/v1/remarks", "notes")]],
    ["an event webhook.created", alike],
    ["a property events of accounts", [webhooks(), { name: "other", account: { events: () => ({}) } }]],
    ["a property webhooks of accounts", [webhooks(), { name: "other", account: { webhooks: () => ({}) } }]]
  ])("cannot take %s that there is already", async (taken, modules) => {
    const problem = `there is already ${taken}; give each once`
    await expect(open(modules)).rejects.toThrow(ConfigurationError)
    await expect(open(modules)).rejects.toEqual(isTaken("modules[1]", problem))
  })

  it("name the module of the list that clashes with a module that another one needs", async () => {
    const needed = { ...declare("needed", notesPath), needs: [] }
    const needy = { name: "needy", needs: [needed] }
    const clashing = declare("remarks", notesPath.replace(":id", ":noteId") as `/${string}`)
    await expect(open([webhooks(), needy, clashing])).rejects.toEqual(
      isTaken("modules[2]", "there is already a path GET /v1/accounts/:accountName/notes/:noteId; give each once")
    )
    await expect(open([needy, { name: "other", needs: [needed] }, clashing])).rejects.toEqual(
      isTaken("modules[2]", "there is already a path GET /v1/accounts/:accountName/notes/:noteId; give each once")
    )
  })

  it("cannot serve the same route beside their endpoints", async () => {
    const modules = ["one", "two"].map((name) => defineModule({ name, routes: Effect.succeed([route("/files/*")]) }))
    await expect(open(modules)).rejects.toEqual(isTaken("modules", "two of them serve GET /files/*"))
    await (await open(modules.slice(1))).close()
  })

  it("cannot do background work of the same name", async () => {
    const work = (name: string) => {
      const register = Effect.flatMap(DueWork, ({ register }) =>
        register({ name: "notes.clean", run: () => Effect.succeed(undefined) })
      )
      return defineModule({ name, layer: Layer.effectDiscard(register) })
    }
    await (await open([work("notes")])).close()
    await expect(open([work("notes"), work("remarks")])).rejects.toEqual(
      isTaken("modules", "there is already background work named notes.clean; give each kind a name of its own")
    )
  })

  it("cannot be given to a client twice", () => {
    const client = (modules: never) => () => createClient({ baseUrl: "http://gate", token: "x".repeat(24), modules })
    expect(client([webhooksClient, webhooksClient] as never)).toThrow(
      "modules[1]: there is already a module webhooks; give each once"
    )
    expect(client([undefined] as never)).toThrow("modules: must be an array of modules, such as webhooksClient")
  })

  it("are named in the log at the start, once", async () => {
    const lines: Array<string> = []
    const log = (level: string) => (message: string) => lines.push(`${level} ${message}`)
    const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") }
    const gate = await open([webhooks(), defineModule({ name: "notes" })], { logger })
    await gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
    await gate.close()
    await (await open([], { logger })).close()
    expect(lines.filter((line) => line.includes("Modules"))).toEqual(["info Modules: webhooks, notes"])
  })

  it("that were not given have paths like any unknown one", async () => {
    const gate = await open([])
    const send = async (path: string) => {
      const headers = { authorization: `Bearer ${tokens.writer}` }
      const response = await gate.handler(new Request(`http://gate/v1/accounts/acme/${path}`, { headers }))
      const { instance: _, detail, ...problem } = (await response.json()) as { instance: string; detail: string }
      return { status: response.status, problem, detail: detail.replace(path, "…") }
    }
    for (const path of ["webhooks", "webhooks/whk_1/deliveries", "projects"]) {
      expect(await send(path)).toEqual(await send("unknown"))
      expect(gate.matches(`/v1/accounts/acme/${path}`)).toBe(false)
    }
    expect((await send("unknown")).status).toBe(404)
    await gate.close()
  })
})
