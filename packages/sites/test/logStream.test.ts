/**
 * Logs of deployments as JSON and as server-sent events, on all stores, by every binding and in a client.
 */
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import {
  type DeploymentLogJson,
  type DeploymentsModule,
  deployments,
  memorySourceStore,
  type Release
} from "@tollgate/deployments"
import { deploymentsClient } from "@tollgate/deployments/client"
import { tollgate as expressTollgate } from "@tollgate/express"
import { tollgate as fastifyTollgate } from "@tollgate/fastify"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { type TokensModule, tokens as tokensModule } from "@tollgate/tokens"
import { Effect } from "effect"
import { Sse } from "effect/encoding"
import express from "express"
import fastify from "fastify"
import Koa from "koa"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../../core/test/stores.ts"

type Gate = Tollgate<DeploymentsModule | TokensModule>

const unknown = "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690"

/** A gate whose runs wait in their step `check` until they are told to go on, and log what they are told. */
const openGate = async (store: TollgateOptions["store"]) => {
  const runs: Array<{ readonly log: (line: string) => void; readonly finish: () => void }> = []
  const target = {
    check: ({ log }: Release) => Effect.promise(() => new Promise<void>((finish) => runs.push({ log, finish }))),
    publish: () => Effect.void
  }
  const gate: Gate = await createTollgate({
    store,
    secret,
    tokens: grants,
    publicUrl: "http://gate",
    modules: [deployments({ sources: memorySourceStore(), target }), tokensModule()]
  })
  const web = gate.account("acme").project("web").deployments
  /** Starts a run, and waits until it is in its step. */
  const start = async () => {
    const count = runs.length
    const { uploadUrl } = await web.createSource({ branchName: "main" })
    const { id } = await web.upload(uploadUrl, new Uint8Array(5))
    await expect.poll(() => runs.length).toBe(count + 1)
    const { log, finish } = runs.at(-1) ?? expect.fail()
    return { id, log, finish, path: `/v1/accounts/acme/projects/web/deployment-status/${id}/log` }
  }
  return { gate, web, start, runs }
}

const toUrl = (server: Server): string => {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

const listen = async (listener: RequestListener): Promise<Server> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

interface OpenOptions {
  readonly after?: string
  readonly token?: string
  readonly accept?: string
}

/** Opens a stream, and parses its events. */
const open = async (fetchPath: typeof fetch, url: string, options: OpenOptions = {}) => {
  const { after, token = tokens.reader, accept = "text/event-stream" } = options
  const controller = new AbortController()
  const response = await fetchPath(
    new Request(url, {
      headers: {
        accept,
        authorization: `Bearer ${token}`,
        ...(after === undefined ? {} : { "last-event-id": after })
      },
      signal: controller.signal
    })
  )
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const events: Array<Sse.Event> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push(event)
  })
  /** Reads until there are so many events, or to the end. */
  const read = async (count = Number.POSITIVE_INFINITY) => {
    while (events.length < count) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: "" }
      if (done) break
      parser.feed(value ?? "")
    }
    return events.map(({ id, event, data }) => [id, event, data])
  }
  const leave = (): void => {
    controller.abort()
    // A request that is made from another one may have lost its signal when garbage was collected.
    reader?.cancel().catch(() => undefined)
  }
  return { response, read, leave }
}

describe.each(stores)("the log of a deployment, on %s", (_, store) => {
  let made: Awaited<ReturnType<typeof openGate>>
  let server: Server
  beforeAll(async () => {
    made = await openGate(store)
    server = await listen(toNodeHandler(made.gate))
  })
  afterAll(async () => {
    for (const { finish } of made.runs) finish()
    server.close().closeAllConnections()
    await made.gate.close()
  })
  const openLog = (path: string, options?: OpenOptions) => open(fetch, `${toUrl(server)}${path}`, options)
  const readJson = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${toUrl(server)}${path}`, {
      headers: { authorization: `Bearer ${tokens.reader}`, ...headers }
    })
    return { status: response.status, body: (await response.json()) as DeploymentLogJson }
  }

  it("is followed while the run goes on, and read to its end afterwards", async () => {
    const { id, log, finish, path } = await made.start()
    const live = await openLog(path)
    expect(live.response.status).toBe(200)
    expect(live.response.headers.get("content-type")).toBe("text/event-stream")
    expect(live.response.headers.get("cache-control")).toBe("no-store, no-transform")
    expect(await live.read(1)).toEqual([["1", "message", "Received 5 bytes"]])
    log("one\ntwo")
    const three = [
      ["1", "message", "Received 5 bytes"],
      ["2", "message", "one"],
      ["3", "message", "two"]
    ]
    expect(await live.read(3)).toEqual(three)
    expect((await readJson(path)).body).toEqual({
      status: "IN_PROGRESS",
      lines: three.map(([number, , text]) => ({ number: Number(number), text })),
      next: "3"
    })
    finish()
    const all = [...three, ["4", "message", "Published"], ["4.end", "end", '{"status":"SUCCESS"}']]
    expect(await live.read()).toEqual(all)

    // Afterwards, whole or after any event.
    expect(await (await openLog(path)).read()).toEqual(all)
    expect(await (await openLog(path, { after: "2" })).read()).toEqual(all.slice(2))
    expect(await (await openLog(path, { after: "4" })).read()).toEqual(all.slice(4))
    // A browser that has all does not come again.
    expect((await openLog(path, { after: "4.end" })).response.status).toBe(204)
    expect(await readJson(path, { "last-event-id": "3" })).toEqual({
      status: 200,
      body: { status: "SUCCESS", lines: [{ number: 4, text: "Published" }], next: "4.end" }
    })

    // Another run goes on with the numbers.
    const name = (await made.web.list()).data[0]?.name ?? ""
    const count = made.runs.length
    await made.web.deploy(name)
    await expect.poll(() => made.runs.length).toBe(count + 1)
    const again = await openLog(path, { after: "4.end" })
    made.runs.at(-1)?.log("again")
    expect(await again.read(1)).toEqual([["5", "message", "again"]])
    made.runs.at(-1)?.finish()
    expect((await again.read()).slice(1)).toEqual([
      ["6", "message", "Published"],
      ["6.end", "end", '{"status":"SUCCESS"}']
    ])
    expect((await made.web.log(id, { after: "5" })).lines).toEqual([{ number: 6, text: "Published" }])
  })

  it("has the last 200 lines, each with its number", async () => {
    const { log, finish, path } = await made.start()
    const live = await openLog(path)
    await live.read(1)
    for (let line = 1; line <= 1_000; line++) log(`line ${line} ${"x".repeat(600)}`)
    const events = await live.read(201)
    expect(events.map(([id]) => Number(id)).slice(1)).toEqual(Array.from({ length: 200 }, (_, index) => 802 + index))
    expect(events.at(-1)?.[2]).toMatch(/^line 1000 x+ …$/)
    finish()
    expect((await live.read()).at(-1)).toEqual(["1002.end", "end", '{"status":"SUCCESS"}'])
    expect((await readJson(path)).body.lines).toHaveLength(200)
  })

  it("ends when a later upload ends the run, and when the deployment is removed", async () => {
    const first = await made.start()
    const superseded = await openLog(first.path)
    const second = await made.start()
    expect((await superseded.read()).at(-1)).toEqual(["1.end", "end", '{"status":"ERROR"}'])
    const removed = await openLog(second.path)
    await removed.read(1)
    const name = (await made.web.list()).data[0]?.name ?? ""
    await made.web.remove(name)
    const [id, event, problem] = (await removed.read()).at(-1) ?? []
    expect([id, event, JSON.parse(problem ?? "").code]).toEqual(["1", "problem", "status-not-found"])
  })

  it("is refused to others, and for invalid positions", async () => {
    const { finish, path } = await made.start()
    const getStatus = async (path: string, options: OpenOptions) => (await openLog(path, options)).response.status
    for (const accept of ["text/event-stream", "application/json"]) {
      expect(await getStatus(path, { accept, token: "nonsense" })).toBe(401)
      expect(await getStatus(path, { accept, token: tokens.otherAccount })).toBe(403)
      expect(await getStatus(path.replace(/[^/]+\/log$/, `${unknown}/log`), { accept })).toBe(404)
      expect(await getStatus(path.replace(/[^/]+\/log$/, "nonsense/log"), { accept })).toBe(404)
      expect(await getStatus(path.replace("/web/", "/other/"), { accept })).toBe(404)
      for (const after of ["x", "-1", "1.5", "1.end.end", "9".repeat(16), "1 "]) {
        expect(await getStatus(path, { accept, after: after.trim() === "1" ? "1,2" : after }), after).toBe(400)
      }
    }
    // One that is ahead gets what comes next.
    expect((await readJson(path, { "last-event-id": "999" })).body).toEqual({
      status: "IN_PROGRESS",
      lines: [],
      next: "1"
    })
    finish()
  })

  it("is iterated over in process and in a client, which goes on when the server is away", async () => {
    const client = createClient({ baseUrl: toUrl(server), token: tokens.reader, modules: [deploymentsClient] })
    const { id, log, finish } = await made.start()
    const follow = async ({ followLog }: Pick<typeof made.web, "followLog">) => {
      const lines: Array<number> = []
      for await (const { number, text } of followLog(id)) {
        lines.push(number)
        if (text === "one") {
          // The connections of the client, too.
          server.closeAllConnections()
          log("two")
        }
        if (text === "two") finish()
      }
      return lines
    }
    const following = [follow(made.web), follow(client.account("acme").project("web").deployments)]
    log("one")
    for (const lines of await Promise.all(following)) {
      expect(lines).toEqual(Array.from({ length: lines.length }, (_, index) => index + 1))
      expect(lines.length).toBeGreaterThanOrEqual(4)
    }
    const rest: Array<string> = []
    const iterator = made.web.followLog(id, { after: "1" })
    for (let next = await iterator.next(); ; next = await iterator.next()) {
      if (next.done === true) {
        expect(next.value).toBe("SUCCESS")
        break
      }
      rest.push(next.value.text)
    }
    expect(rest.at(-1)).toBe("Published")
    await expect(made.web.followLog(unknown).next()).rejects.toMatchObject({ _tag: "StatusNotFound" })
    await expect(made.web.followLog(id, { nonsense: 1 } as never).next()).rejects.toMatchObject({ status: 400 })
    const controller = new AbortController()
    const aborted = made.web.followLog((await made.start()).id, { after: "1", signal: controller.signal }).next()
    controller.abort(new Error("left"))
    await expect(aborted).rejects.toThrow("left")
  })
})

describe("a stream of a log", () => {
  let made: Awaited<ReturnType<typeof openGate>>
  const closers: Array<() => unknown> = []
  beforeAll(async () => {
    made = await openGate(MemoryStore.open())
  })
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })
  afterAll(async () => {
    for (const { finish } of made.runs) finish()
    await made.gate.close()
  })

  const serve = async (listener: RequestListener): Promise<typeof fetch> => {
    const server = await listen(listener)
    closers.push(() => server.close().closeAllConnections())
    return (request) =>
      fetch(new Request(`${toUrl(server)}${new URL((request as Request).url).pathname}`, request as Request))
  }
  const bindings: Readonly<Record<string, () => Promise<typeof fetch>>> = {
    node: () => serve(toNodeHandler(made.gate)),
    express: () => serve(express().use(expressTollgate(made.gate))),
    koa: () => serve(new Koa().use(koaTollgate(made.gate)).callback() as RequestListener),
    fastify: async () => {
      const app = fastify()
      await app.register(fastifyTollgate(made.gate))
      const url = await app.listen({ port: 0, host: "127.0.0.1" })
      closers.push(() => {
        app.server.closeAllConnections()
        return app.close()
      })
      return (request) => fetch(new Request(`${url}${new URL((request as Request).url).pathname}`, request as Request))
    },
    fetch: () => Promise.resolve((request) => made.gate.handler(request as Request))
  }

  it.each(Object.keys(bindings))("is sent line by line, and given back when it is left: %s", async (name) => {
    const fetchPath = (await bindings[name]?.()) ?? expect.fail()
    const { log, finish, path } = await made.start()
    const url = `http://gate${path}`
    // As many as an account may have, so that each that is left is needed.
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(fetchPath, url)))
    for (const { response } of streams) expect(response.status).toBe(200)
    const refused = await fetchPath(
      new Request(url, { headers: { accept: "text/event-stream", authorization: `Bearer ${tokens.reader}` } })
    )
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"])
    expect(await refused.json()).toMatchObject({ code: "rate-limited", limit: "open-streams" })
    const [first, ...others] = streams
    log("live")
    expect((await first?.read(2))?.at(1)).toEqual(["2", "message", "live"])
    for (const { leave } of others) leave()
    await expect
      .poll(async () => {
        const again = await open(fetchPath, url)
        again.leave()
        return again.response.status
      })
      .toBe(200)
    finish()
    expect((await first?.read())?.at(-1)).toEqual(["3.end", "end", '{"status":"SUCCESS"}'])
    // All of them were given back.
    await expect
      .poll(async () => {
        const more = await Promise.all(Array.from({ length: 20 }, () => open(fetchPath, url)))
        await Promise.all(more.map(({ read }) => read()))
        return more.map(({ response }) => response.status).filter((status) => status !== 200)
      })
      .toEqual([])
  })

  it("ends when its token is revoked, and when the token loses its permission", async () => {
    const fetchPath = await (bindings["node"]?.() ?? expect.fail())
    const { finish, path } = await made.start()
    const { tokens: ownTokens } = made.gate.account("acme")
    const revoked = await ownTokens.create({ description: "revoked", permissions: ["deployments:read"] })
    const stays = await ownTokens.create({ description: "stays", permissions: ["deployments:read"] })
    const stream = await open(fetchPath, `http://gate${path}`, { token: revoked.token })
    const other = await open(fetchPath, `http://gate${path}`, { token: stays.token })
    expect(await stream.read(1)).toEqual([["1", "message", "Received 5 bytes"]])
    await ownTokens.remove(revoked.id)
    const [, event, problem] = (await stream.read()).at(-1) ?? []
    expect([event, JSON.parse(problem ?? "").status]).toEqual(["problem", 401])
    finish()
    expect((await other.read()).at(-1)).toEqual(["2.end", "end", '{"status":"SUCCESS"}'])
    const none = await ownTokens.create({ description: "other", permissions: ["consumers:read"] })
    expect((await open(fetchPath, `http://gate${path}`, { token: none.token })).response.status).toBe(403)
  })

  it("is JSON unless events are preferred, and HEAD opens none", async () => {
    const fetchPath = await (bindings["node"]?.() ?? expect.fail())
    const { finish, path } = await made.start()
    const getType = async (accept: string) => {
      const { response, leave } = await open(fetchPath, `http://gate${path}`, { accept })
      leave()
      return response.headers.get("content-type")
    }
    for (const accept of ["*/*", "application/json", "text/*", "text/event-stream;q=0.1, application/json"]) {
      expect(await getType(accept), accept).toBe("application/json")
    }
    for (const accept of ["text/event-stream", "TEXT/event-stream, */*", "application/json;q=0.5, text/event-stream"]) {
      expect(await getType(accept), accept).toBe("text/event-stream")
    }
    for (let count = 0; count < 30; count++) {
      const headers = { accept: "text/event-stream", authorization: `Bearer ${tokens.reader}` }
      const response = await fetchPath(new Request(`http://gate${path}`, { method: "HEAD", headers }))
      expect(response.status).toBe(200)
    }
    finish()
  })
})
