/**
 * What a host sees of decisions: `onDecision`, and lines in its log for refusals.
 */
import { createTollgate, type DecisionNotice, type TollgateOptions } from "@tollgate/core"
import { requireApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { describe, expect, it, vi } from "vitest"
import { makeClient } from "./http/client.ts"
import { grants, secret } from "./stores.ts"

interface Line {
  readonly level: string
  readonly message: unknown
  readonly fields: Readonly<Record<string, unknown>>
}

const setUp = async (options: Partial<TollgateOptions> = {}) => {
  const lines: Array<Line> = []
  const log =
    (level: string) =>
    (message: unknown, fields: Readonly<Record<string, unknown>> = {}): void =>
      void lines.push({ level, message, fields })
  const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") }
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, logger, ...options })
  const production = gate.account("acme").keyBucket("production")
  const alice = await production.consumers.create({ name: "alice", apiKeys: [{}, { disabled: true }] })
  const [key = "", disabled = ""] = (alice.apiKeys ?? []).map((created) => created.key)
  const getRefusals = () => lines.filter(({ message }) => /refused/.test(String(message)))
  return { gate, production, alice, key, disabled, lines, getRefusals }
}

/** `onDecision` is called after the decision. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const send = (key: string) =>
  new Request("http://host/route", { headers: { authorization: `Bearer ${key}`, "x-request-id": "of-the-customer" } })

describe("a refusal in the log", () => {
  it("has the id that the customer was given, the reason, and whose key it is", async () => {
    const { gate, production, alice, key, disabled, getRefusals } = await setUp()
    const protect = requireApiKey(production, { rateLimit: { name: "steady", limit: 1, per: "day" } })
    await protect(send(key))
    expect(getRefusals()).toEqual([])
    await protect(send(disabled))
    await protect(send(key))
    await protect(new Request("http://host/route"))
    const ofAlice = { consumerName: "alice", consumerId: alice.id }
    const common = { accountName: "acme", bucketName: "production" }
    const [first, second, third] = getRefusals()
    expect(first).toMatchObject({
      level: "debug",
      message: "A request was refused",
      fields: {
        ...common,
        ...ofAlice,
        requestId: "of-the-customer",
        reason: "disabled-key",
        keyId: alice.apiKeys?.[1]?.id
      }
    })
    expect(second?.fields).toMatchObject({
      ...ofAlice,
      requestId: "of-the-customer",
      reason: "rate-limited",
      limit: "steady"
    })
    expect(third?.fields).toMatchObject({ reason: "malformed-key", requestId: expect.stringMatching(/^[0-9a-f]{22}$/) })
    expect(JSON.stringify(getRefusals())).not.toContain(disabled)
    await gate.close()
  })

  it("has the id of a refusal over HTTP, too", async () => {
    const { gate, disabled, getRefusals } = await setUp()
    const path = "/v1/accounts/acme/key-buckets/production/authorize"
    const answer = await makeClient(gate.handler)("POST", path, { body: { key: disabled } })
    expect(answer.body).toMatchObject({ allowed: false, status: 401 })
    expect(getRefusals()).toMatchObject([
      { fields: { requestId: answer.body.problem.instance, reason: "disabled-key" } }
    ])
    await gate.close()
  })

  it("is one of at most 100 a second; then a line says how many were left out", async () => {
    const { gate, production, getRefusals } = await setUp()
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
    try {
      for (let count = 0; count < 250; count++) await production.authorize("tg_wrong")
      expect(getRefusals()).toHaveLength(100)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(getRefusals()[100]?.message).toBe("150 more requests were refused, too many to log")
      await production.authorize("tg_wrong")
      await vi.advanceTimersByTimeAsync(5_000)
      expect(getRefusals()).toHaveLength(102)
    } finally {
      vi.useRealTimers()
    }
    await gate.close()
  })
})

describe("onDecision", () => {
  it("is told of each decision after it, and is not awaited", async () => {
    const notices: Array<DecisionNotice> = []
    const onDecision = (notice: DecisionNotice) => {
      notices.push(notice)
      return new Promise<void>(() => undefined)
    }
    const { gate, production, alice, key, disabled } = await setUp({ onDecision })
    const protect = requireApiKey(production, { scopes: ["a"], ip: () => "203.0.113.7" })
    await production.authorize(key)
    await protect(send(key))
    await protect(send(disabled))
    await production.authorize("unknown-but-well-formed")
    await nextTurn()
    const ofAlice = { consumerName: "alice", consumerId: alice.id }
    const common = { accountName: "acme", bucketName: "production", decidedOn: expect.stringMatching(/Z$/) }
    const ofRoute = { requestId: "of-the-customer", ip: "203.0.113.7" }
    const [keyId, disabledId] = (alice.apiKeys ?? []).map(({ id }) => id)
    expect(notices).toEqual([
      { ...common, ...ofAlice, allowed: true, keyId },
      { ...common, ...ofAlice, ...ofRoute, allowed: false, reason: "missing-scope", keyId },
      { ...common, ...ofAlice, ...ofRoute, allowed: false, reason: "disabled-key", keyId: disabledId },
      { ...common, allowed: false, reason: "unknown-key" }
    ])
    await gate.close()
  })

  it("may throw or reject: that is logged once a minute, and changes no decision", async () => {
    let calls = 0
    const onDecision = async () => {
      calls++
      throw new Error("the host's mistake")
    }
    const { gate, production, key, lines } = await setUp({ onDecision })
    const failures = () => lines.filter(({ message }) => /onDecision/.test(String(message)))
    vi.useFakeTimers({ toFake: ["Date"] })
    try {
      for (let count = 0; count < 5; count++) expect((await production.authorize(key)).allowed).toBe(true)
      await nextTurn()
      expect([calls, failures().length]).toEqual([5, 1])
      expect(failures()[0]?.level).toBe("error")
      vi.setSystemTime(Date.now() + 61_000)
      await production.authorize(key)
      await nextTurn()
      expect([calls, failures().length]).toEqual([6, 2])
    } finally {
      vi.useRealTimers()
    }
    await gate.close()
  })
})
