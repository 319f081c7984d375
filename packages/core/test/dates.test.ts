/**
 * A `Date` is accepted where a timestamp is, in process and in the client, and nowhere else.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { makeSubscription } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { grants, secret, tokens } from "./stores.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
await once(server, "listening")
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
afterAll(async () => {
  server.close()
  await gate.close()
})

const date = new Date("2031-02-03T04:05:06.789Z")
const text = date.toISOString()

describe.each([
  ["in process", gate.account("acme")],
  ["in the client", createClient({ baseUrl, token: tokens.writer }).account("acme")]
])("a Date %s", (label, account) => {
  const bucketName = label.replaceAll(" ", "-")
  const { consumers, keys } = account.keyBucket(bucketName)

  it("is accepted for keys", async () => {
    const alice = await consumers.create({ name: "alice", apiKeys: [{ expiresOn: date }] })
    expect(alice.apiKeys?.[0]?.expiresOn).toBe(text)
    const { id, expiresOn } = await keys.create("alice", { expiresOn: date })
    expect(expiresOn).toBe(text)
    const later = new Date("2032-01-01T00:00:00Z")
    expect((await keys.update("alice", id, { expiresOn: later })).expiresOn).toBe(later.toISOString())
    expect((await keys.createMany("alice", [{}, { expiresOn: date }])).data[1]?.expiresOn).toBe(text)
    const imported = { hash: "0".repeat(64), algorithm: "sha256", expiresOn: date } as const
    expect((await keys.import("alice", { keys: [imported] })).data[0]?.expiresOn).toBe(text)
    await keys.create("alice")
    await consumers.rollKey("alice", { expiresOn: date })
  })

  it("is accepted for subscriptions and usage", async () => {
    const { plans, subscriptions, usage } = await account.meteringBuckets.ensure(bucketName)
    const plan = await plans.create({ label: "p", meters: { requests: { max: 1 } } })
    const created = await subscriptions.create({
      ...makeSubscription(plan.id, "p", { customerKey: "c" }),
      trialStartDate: date,
      trialEndDate: date,
      quotaResetAnchor: new Date("2026-01-01T00:00:00Z"),
      nextBillingCycle: date
    })
    expect(created).toMatchObject({ trialStartDate: text, trialEndDate: text, nextBillingCycle: text })
    const updated = await subscriptions.update(created.id, { trialEndDate: new Date("2033-01-01T00:00:00Z") })
    expect(updated.trialEndDate).toBe("2033-01-01T00:00:00.000Z")
    const range = { from: new Date("2026-11-01T00:00:00Z"), to: new Date("2026-11-03T00:00:00Z") }
    const days = { from: "2026-11-01T00:00:00.000Z", to: "2026-11-03T00:00:00.000Z" }
    expect(await usage.series(created.id, { ...range, step: "day" })).toMatchObject(days)
    expect(await usage.totals(range)).toMatchObject(days)
  })

  const misplaced = "cannot be a Date, which is accepted only where a timestamp is"
  const wrong = date as never
  it.each([
    [{ name: wrong }, "/name"],
    [{ name: "x", tags: wrong }, "/tags"],
    [{ name: "x", metadata: { a: { 0: [wrong] } } }, "/metadata/a/0/0"],
    [{ name: "x", apiKeys: [{ description: wrong }] }, "/apiKeys/0/description"],
    [{ name: "x", apiKeys: wrong }, "/apiKeys"],
    [wrong, ""]
  ])("is refused elsewhere: %j", async (input, pointer) => {
    await expect(consumers.create(input)).rejects.toMatchObject({
      _tag: "InvalidInput",
      errors: [{ pointer, detail: misplaced }]
    })
  })

  it("is refused as another option", async () => {
    for (const name of ["limit", "managerEmail", "tags", "unknown"]) {
      await expect(consumers.list({ [name]: date })).rejects.toMatchObject({
        errors: [{ parameter: name, detail: misplaced }]
      })
    }
  })

  it("is refused if it is invalid", async () => {
    const { usage } = account.meteringBucket("bckt_x")
    const invalid = new Date(Number.NaN)
    const errors = (place: object) => ({ _tag: "InvalidInput", errors: [{ ...place, detail: "is an invalid Date" }] })
    await expect(keys.create("alice", { expiresOn: invalid })).rejects.toMatchObject(errors({ pointer: "/expiresOn" }))
    await expect(usage.totals({ to: invalid })).rejects.toMatchObject(errors({ parameter: "to" }))
  })
})
