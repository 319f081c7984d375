/**
 * What a hostile tenant does, with a read token, a write token and no token at all. Each attack counts its answers, so that
 * one that does not reach its target is noticed.
 */
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import type { Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { crc32 } from "node:zlib"
import * as Base62 from "../../store/src/crypto/Base62.ts"
import { type Connection, openConnection, type RawOptions, sendRaw } from "./hostileConnections.ts"
import { makeRandom, type Random } from "./random.ts"

export interface AttackInput {
  readonly port: number
  readonly readToken: string
  readonly writeToken: string
  readonly meteringBucketId: string
  readonly webhookId: string
  /** Files of archives. The first ones expand hugely. */
  readonly archives: ReadonlyArray<string>
  readonly expandingArchives: number
  readonly attacks: ReadonlyArray<string>
  readonly durationMs: number
  readonly seed: number
}

export interface AttackResult {
  /** How often each answer was seen, by attack. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** When the attack began and ended, by `Date.now()`. */
  readonly start: number
  readonly end: number
}

interface Context extends AttackInput, Random {
  readonly connection: Connection
  /** The number of the connection in its attack. */
  readonly index: number
  readonly isOver: () => boolean
  readonly count: (answer: number | string) => void
  readonly raw: (options: Omit<RawOptions, "isOver" | "onStatus">) => Promise<void>
  /** Sends a request and counts the status. */
  readonly call: (...args: Parameters<Connection["call"]>) => ReturnType<Connection["call"]>
}

interface Attack {
  readonly connections: number
  /** Answers of which each must be seen: the attack reaches what it attacks. */
  readonly expected: ReadonlyArray<number | string>
  /** Repeated by every connection until the time is over. */
  readonly attack: (context: Context) => Promise<unknown>
}

const bucket = (name: string): string => `/v1/accounts/a/key-buckets/${name}`
const json = (value: unknown): string => JSON.stringify(value)
const makeName = (): string => `n-${randomBytes(8).toString("hex")}`

/** Bodies of up to a megabyte: too many values, almost as many as are allowed, lists in depth, a long text. */
const bodies: ReadonlyArray<string> = [
  `{"name":"a","metadata":[${"[],".repeat(349_000)}[]]}`,
  `{"name":"a","metadata":[${"[],".repeat(98_000)}[]]}`,
  `{"name":"a","metadata":{"all":[${"[],".repeat(21_000)}[]]}}`,
  `{"metadatafoo":[${"1,".repeat(98_000)}1]}`,
  `{"a":${"[".repeat(500_000)}`,
  `{"name":"${'[{,\\"'.repeat(100_000)}"}`
]

/** A key that nobody has, and whose checksum is right, so that it is looked up. */
const makeUpKey = (): string => {
  const body = `tg_${randomBytes(20).toString("hex")}`
  return `${body}_${Base62.encode(crc32(body), 6)}`
}

/** How many archives that expand are uploaded in all: a server without a bound must not fill the disk of the tests. */
const maxExpanding = 8
let expanded = 0

const partitions = 1_000
let created = 0

export const attacks: Readonly<Record<string, Attack>> = {
  "pipelining, read": {
    connections: 1,
    expected: [200],
    attack: ({ raw }) => raw({ path: "/healthz", pipelined: 2_000, reads: true })
  },
  "pipelining, not read": {
    connections: 4,
    expected: [200, 404],
    attack: ({ raw, index }) =>
      raw({ path: index % 2 === 0 ? "/console/" : "/v1/nothing", pipelined: 2_000, keepMs: 20_000 })
  },
  bodies: {
    connections: 4,
    expected: [400, 413],
    attack: async ({ call, pick, index, readToken, writeToken }) => {
      const body = pick(bodies)
      if (index === 0) return call("POST", "/console/session", { body })
      if (index === 1) return call("POST", `${bucket("large")}/$verify`, { token: readToken, body })
      return call("POST", `${bucket("large")}/consumers`, { token: writeToken, body })
    }
  },
  "large lists": {
    connections: 4,
    expected: [200],
    attack: ({ call, readToken }) =>
      call("GET", `${bucket("large")}/consumers?limit=1000&offset=0`, { token: readToken })
  },
  "large lists, not read": {
    connections: 4,
    expected: [200],
    // Half of them come back soon, and leave the turns of their account to the other lists for a while.
    attack: ({ raw, index, readToken }) =>
      raw({
        path: `${bucket("large")}/consumers?limit=1000&offset=0`,
        token: readToken,
        ...(index % 2 === 0 ? { keepMs: 2_000 } : {})
      })
  },
  "lists by tags": {
    connections: 4,
    expected: [200],
    attack: async ({ call, below, readToken }) => {
      const names = Array.from({ length: 50 }, (_, index) => `t${index}`)
      while (names.length > 45) names.splice(below(names.length), 1)
      const tags = names.map((name) => `tag.${name}=x`).join("&")
      return call("GET", `${bucket("tagged")}/consumers?limit=1&offset=${below(1_000)}&${tags}`, { token: readToken })
    }
  },
  "many keys": {
    connections: 3,
    expected: [200, 204],
    attack: async ({ call, isOver, writeToken: token }) => {
      const name = makeName()
      const path = `${bucket("keys")}/consumers`
      await call("POST", path, { token, body: json({ name }) })
      const body = json(Array.from({ length: 1_000 }, () => ({})))
      for (let count = 0; count < 3 && !isOver(); count++) {
        await call("POST", `${path}/${name}/keys/$bulk`, { token, body })
      }
      await call("DELETE", `${path}/${name}`, { token })
    }
  },
  "usage series": {
    connections: 2,
    expected: [200],
    attack: ({ call, readToken, meteringBucketId }) => {
      const day = 86_400_000
      const from = new Date(Math.floor(Date.now() / day - 38) * day).toISOString()
      return call("GET", `/v1/metering/${meteringBucketId}/usage?from=${from}`, { token: readToken })
    }
  },
  "events of many partitions": {
    connections: 16,
    expected: [200],
    attack: ({ call, writeToken: token }) =>
      call("POST", `${bucket(`p${created++ % partitions}`)}/consumers`, { token, body: json({ name: makeName() }) })
  },
  "webhooks that do not resolve": {
    connections: 8,
    expected: [409],
    attack: ({ call, below, writeToken: token }) =>
      call("POST", "/v1/accounts/a/webhooks", { token, body: json({ url: `http://h${below(1_000)}.slow.test/` }) })
  },
  "changes of a webhook": {
    connections: 2,
    expected: [200],
    attack: ({ call, webhookId, writeToken: token }) =>
      call("PATCH", `/v1/accounts/a/webhooks/${webhookId}`, { token, body: json({ description: makeName() }) })
  },
  archives: {
    connections: 6,
    expected: [200, "run ERROR"],
    attack: async ({ call, count, pick, isOver, index, archives, expandingArchives, writeToken: token }) => {
      const isExpanding = expanded < maxExpanding && index % 2 === 0
      if (isExpanding) expanded++
      const files = isExpanding ? archives.slice(0, expandingArchives) : archives.slice(expandingArchives)
      const projectName = `p${index}`
      const source = json({ accountName: "a", projectName, branchName: makeName() })
      const { status, text } = await call("POST", "/v1/deployments/sources", { token, body: source })
      if (status !== 200) return delay(1_000)
      const url = new URL(JSON.parse(text).uploadUrl)
      const uploaded = await call("PUT", url.pathname + url.search, { body: readFileSync(pick(files)) })
      if (uploaded.status !== 200) return delay(1_000)
      const id = url.pathname.split("/").at(-1)?.replace(".tar.gz", "")
      while (!isOver()) {
        const path = `/v1/accounts/a/projects/${projectName}/deployment-status/${id}`
        const run = JSON.parse((await call("GET", path, { token })).text)
        if (run.status !== "IN_PROGRESS") return count(`run ${run.status}`)
        await delay(200)
      }
    }
  },
  "made-up keys": {
    connections: 4,
    expected: [401],
    attack: ({ call, index }) => call("GET", index % 2 === 0 ? "/hello" : "/open", { token: makeUpKey() })
  },
  "large records": {
    connections: 4,
    expected: [200],
    attack: ({ call, writeToken: token }) => {
      const metadata = { text: randomBytes(24_000).toString("base64").repeat(2) }
      const headers = { "idempotency-key": makeName() }
      return call("POST", `${bucket("fill")}/consumers`, { token, headers, body: json({ name: makeName(), metadata }) })
    }
  }
}

/** How long the last requests are waited for. Under attack, the attacker itself waits longest. */
const maxLastAnswersMs = 60_000

/** Runs the attacks all at once, for their time, and returns the answers. */
export const runAttacks = async (input: AttackInput): Promise<AttackResult> => {
  const answers: Record<string, Record<string, number>> = {}
  const sockets = new Set<Socket>()
  const connections: Array<Connection> = []
  const start = Date.now()
  const end = start + input.durationMs
  const isOver = () => Date.now() >= end
  const random = makeRandom(input.seed)

  const runConnection = async (name: string, { attack }: Attack, index: number) => {
    const counts = answers[name] ?? {}
    answers[name] = counts
    const count = (answer: number | string) => {
      counts[answer] = (counts[answer] ?? 0) + 1
    }
    const connection = openConnection(input.port)
    connections.push(connection)
    const call: Context["call"] = async (...args) => {
      const answer = await connection.call(...args)
      count(answer.status)
      return answer
    }
    const raw: Context["raw"] = (options) => sendRaw(input.port, { ...options, isOver, onStatus: count }, sockets)
    const context: Context = { ...input, ...random, connection, index, isOver, count, raw, call }
    while (!isOver()) {
      try {
        await attack(context)
      } catch (error) {
        if (isOver()) return
        count(error instanceof Error && "code" in error ? String(error.code) : String(error))
        await delay(100)
      }
    }
  }

  const running = Object.entries(attacks)
    .filter(([name]) => input.attacks.includes(name))
    .flatMap(([name, attack]) =>
      Array.from({ length: attack.connections }, (_, index) => runConnection(name, attack, index))
    )
  await delay(input.durationMs)
  for (const socket of sockets) if (socket.bytesRead > 0) socket.destroy()
  const closing = new AbortController()
  await Promise.race([Promise.all(running), delay(maxLastAnswersMs, undefined, closing)])
  closing.abort()
  for (const socket of sockets) socket.destroy()
  for (const { close } of connections) close()
  return { answers, start, end }
}
