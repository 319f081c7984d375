/**
 * Each change of each resource, and the event that tells of it.
 */
import { hash } from "node:crypto"
import { memoryTarget, StepFailed } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { freshAccount, omitVersion, openGate, readLog, types, useGate } from "./eventGates.ts"
import { secret, stores } from "./stores.ts"

const eventId = expect.stringMatching(/^evt_[0-9A-Za-z]{24}$/)
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const host = { type: "host" }
const owner = { consumerName: "alice", keyBucketName: "production" }
const expiresOn = "2090-01-01T00:00:00.000Z"

describe.each(stores)("events, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const read = (accountName: string) => readLog(store(), gate(), accountName)

  it("tell of a consumer: what happened, by whom, and what it was after that", async () => {
    const accountName = freshAccount()
    const { consumers } = gate().account(accountName).keyBucket("production")
    const input = { name: "alice", description: "A", tags: { team: "blue", age: 5 }, metadata: { deep: [{ a: 1 }] } }
    await consumers.create({ ...input, managers: ["boss@example.com"] }, { actor: "user-1" })
    const created = omitVersion(await consumers.get("alice"))
    await consumers.update("alice", { description: null, tags: {} }, { actor: "user-2" })
    const updated = omitVersion(await consumers.get("alice"))
    await consumers.remove("alice")
    const subject = { type: "consumer", id: created.id, name: "alice" }
    const common = { id: eventId, occurredOn: timestamp, accountName, subject }
    expect(await read(accountName)).toEqual([
      { ...common, type: "consumer.created", actor: { type: "host", id: "user-1" }, data: { ...created, ...owner } },
      { ...common, type: "consumer.updated", actor: { type: "host", id: "user-2" }, data: { ...updated, ...owner } },
      { ...common, type: "consumer.deleted", actor: host, data: { ...updated, ...owner } }
    ])
  })

  it("tell of each key, and one roll or deletion of a consumer is one event", async () => {
    const accountName = freshAccount()
    const { consumers, keys } = gate().account(accountName).keyBucket("production")
    const readKey = async (id: string) => omitVersion(await keys.get("alice", id, { keyFormat: "none" }))
    const { apiKeys } = await consumers.create({ name: "alice", apiKeys: [{ description: "first" }, {}] })
    const first = await readKey(apiKeys?.[0]?.id ?? "")
    const one = await keys.create("alice", { scopes: ["orders:read"], expiresOn }, { actor: "user-1" })
    const oneCreated = await readKey(one.id)
    await keys.update("alice", one.id, { disabled: true, description: "mine" })
    const oneUpdated = await readKey(one.id)
    await keys.remove("alice", one.id)
    const many = await keys.createMany("alice", [{}, { description: "b" }, { key: "a-key-of-the-caller-1" }])
    const imported = await keys.import("alice", {
      keys: ["x-key-of-another-system", "y-key-of-another-system"].map((value) => ({
        hash: hash("sha256", value),
        algorithm: "sha256" as const
      }))
    })
    const manyCreated = await Promise.all([...many.data, ...imported.data].map(({ id }) => readKey(id)))
    const rolled = await consumers.rollKey("alice", { expiresOn })
    const rolledKey = await readKey(rolled.id)
    const alice = omitVersion(await consumers.get("alice"))
    await consumers.remove("alice")
    const log = await read(accountName)
    expect(types(log)).toEqual([
      "consumer.created",
      ...["key.created", "key.created"],
      ...["key.created", "key.updated", "key.deleted"],
      ...["key.created", "key.created", "key.created"],
      ...["key.created", "key.created"],
      ...["consumer.key_rolled", "key.created"],
      "consumer.deleted"
    ])
    const ofKeys = log.filter(({ subject }) => subject.type === "key")
    expect(ofKeys.map(({ data }) => data)).toEqual([
      first,
      expect.objectContaining({ id: apiKeys?.[1]?.id }),
      ...[oneCreated, oneUpdated, oneUpdated],
      ...manyCreated,
      rolledKey
    ])
    expect(ofKeys.map(({ subject }) => subject)).toEqual(ofKeys.map(({ data }) => ({ type: "key", id: data["id"] })))
    expect(ofKeys.map(({ actor }) => actor)).toEqual([
      ...[host, host],
      { type: "host", id: "user-1" },
      ...ofKeys.slice(3).map(() => host)
    ])
    const ofAlice = log.filter(({ subject }) => subject.id === alice.id)
    expect(ofAlice.slice(1).map(({ data }) => data)).toEqual([
      { ...alice, ...owner },
      { ...alice, ...owner }
    ])
    expect(ofKeys.map(({ data }) => data)).toEqual(ofKeys.map(() => expect.objectContaining(owner)))
  })

  it("never contain the value of a key, or its hash", async () => {
    const accountName = freshAccount()
    const { consumers, keys } = gate().account(accountName).keyBucket("production")
    const values = ["the-value-that-was-supplied", "the-value-of-another-system"]
    const created = await consumers.create({ name: "alice", apiKeys: [{}, { key: values[0] }] })
    values.push(...(created.apiKeys ?? []).map(({ key }) => key ?? ""))
    const { id, key } = await keys.create("alice")
    values.push(key ?? "")
    await keys.update("alice", id, { key: "the-value-of-an-update" })
    values.push("the-value-of-an-update")
    const imported = { hash: hash("sha256", values[1] ?? ""), algorithm: "sha256" } as const
    await keys.import("alice", { keys: [imported] })
    values.push((await consumers.rollKey("alice", { expiresOn })).key ?? "")
    await keys.remove("alice", id)
    await consumers.remove("alice")
    const log = await read(accountName)
    expect(log.length).toBe(10)
    const text = JSON.stringify(log)
    expect(values.length).toBe(7)
    for (const value of values) {
      expect(value.length).toBeGreaterThan(15)
      for (const encoding of ["hex", "base64", "base64url"] as const) {
        expect(text).not.toContain(hash("sha256", value, encoding))
      }
      expect(text).not.toContain(value)
    }
  })

  it("tell of metering buckets, plans and subscriptions", async () => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const billing = await account.meteringBuckets.ensure("billing", { actor: "user-1" })
    const bucket = omitVersion(await account.meteringBuckets.get(billing.id))
    const { id: planId } = await billing.plans.create({ label: "pro", meters: { requests: { max: 5 } } })
    const readPlan = async () => omitVersion(await billing.plans.get(planId))
    const planCreated = await readPlan()
    await billing.plans.update(planId, { label: "Pro" }, { actor: "user-2" })
    const planUpdated = await readPlan()
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const readSubscription = async () => omitVersion(await billing.subscriptions.get(id))
    const created = await readSubscription()
    await billing.subscriptions.update(id, { metadata: { a: 1 } })
    const updated = await readSubscription()
    await billing.subscriptions.update(id, { status: "past-due" }, { actor: "user-3" })
    const pastDue = await readSubscription()
    await billing.subscriptions.update(id, { status: "past-due" })
    const same = await readSubscription()
    await billing.subscriptions.remove(id)
    await billing.plans.remove(planId)
    const log = await read(accountName)
    const ofSubject = (id: string) =>
      log.filter(({ subject }) => subject.id === id).map(({ type, actor, data }) => ({ type, actor: actor.id, data }))
    expect(ofSubject(billing.id)).toEqual([{ type: "metering_bucket.created", actor: "user-1", data: bucket }])
    expect(log.find(({ subject }) => subject.id === billing.id)?.subject).toEqual({
      type: "metering_bucket",
      id: billing.id,
      name: "billing"
    })
    expect(ofSubject(planId)).toEqual([
      { type: "plan.created", data: planCreated },
      { type: "plan.updated", actor: "user-2", data: planUpdated },
      { type: "plan.deleted", data: planUpdated }
    ])
    const subjects = log.filter(({ type }) => type.startsWith("subscription.")).map(({ subject }) => subject)
    expect(subjects).toEqual(Array.from({ length: 6 }, () => ({ type: "subscription", id, name: "alice" })))
    expect(ofSubject(id)).toEqual([
      { type: "subscription.created", data: created },
      { type: "subscription.updated", data: updated },
      { type: "subscription.updated", actor: "user-3", data: pastDue },
      { type: "subscription.status_changed", actor: "user-3", data: { ...pastDue, previousStatus: "active" } },
      { type: "subscription.updated", data: same },
      { type: "subscription.deleted", data: same }
    ])
  })

  it("tell of the deletion of a metering bucket once, with plans and subscriptions in it, also when it is repeated", async () => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const { id } = await account.meteringBuckets.create()
    const billing = account.meteringBucket(id)
    await billing.plans.create({ label: "pro", meters: { requests: { max: 5 } } })
    const subscription = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    await billing.usage.consume(subscription.id, { requests: 5 })
    const bucket = omitVersion(await account.meteringBuckets.get(id))
    const removals = await Promise.allSettled(
      Array.from({ length: 5 }, () => account.meteringBuckets.remove(id, { actor: "user-1" }))
    )
    expect(removals.some(({ status }) => status === "fulfilled")).toBe(true)
    const log = await read(accountName)
    expect([...types(log)].sort()).toEqual([
      "metering_bucket.created",
      "metering_bucket.deleted",
      "plan.created",
      "quota.threshold_reached",
      "quota.threshold_reached",
      "subscription.created"
    ])
    const [deleted] = log.filter(({ type }) => type === "metering_bucket.deleted")
    expect(deleted).toMatchObject({ data: bucket, actor: { type: "host", id: "user-1" }, subject: { id } })
    expect(deleted?.subject).not.toHaveProperty("name")
  })

  it("are not written for replays, failed operations, reads and checks of keys", async () => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const production = account.keyBucket("production")
    const { consumers, keys } = production
    const once = { idempotencyKey: "once" }
    for (let repeated = 0; repeated < 3; repeated++) await consumers.create({ name: "alice" }, once)
    for (let repeated = 0; repeated < 3; repeated++) await keys.createMany("alice", [{}, {}], once)
    const rolled = await Promise.all(Array.from({ length: 3 }, () => consumers.rollKey("alice", { expiresOn }, once)))
    const [key] = (await keys.list("alice", { keyFormat: "visible" })).data
    for (const attempt of [
      () => consumers.create({ name: "alice" }),
      () => consumers.create({ name: "INVALID" }),
      () => consumers.update("bob", {}),
      () => consumers.update("alice", { description: "x" }, { ifMatch: 1_000_000 }),
      () => consumers.remove("bob"),
      () => keys.create("alice", { key: key?.key }),
      () => keys.createMany("alice", [{}, { key: key?.key }]),
      () => keys.remove("alice", "key_000000000000000000000000"),
      () => account.meteringBuckets.remove("bckt_000000000000000000000000")
    ]) {
      await expect(attempt()).rejects.toThrow()
    }
    expect(await production.verify(key?.key)).toMatchObject({ valid: true })
    expect(await production.authorize(rolled[0]?.key)).toMatchObject({ allowed: true })
    expect(types(await read(accountName))).toEqual([
      "consumer.created",
      ...["key.created", "key.created"],
      ...["consumer.key_rolled", "key.created"],
      // The list of the values.
      "key.revealed"
    ])
  })

  it("have the actor of the call, and an actor that is no such string changes nothing", async () => {
    const accountName = freshAccount()
    const { consumers } = gate().account(accountName).keyBucket("production")
    const longest = "😀".repeat(256)
    await consumers.create({ name: "alice" }, { actor: longest })
    for (const actor of ["", "a".repeat(257), "😀".repeat(257), 5, null, {}, ["user"], "\ud800", true]) {
      await expect(consumers.update("alice", {}, { actor: actor as string })).rejects.toMatchObject({
        _tag: "InvalidInput",
        errors: [{ parameter: "actor" }]
      })
      await expect(
        gate()
          .account(accountName)
          .meteringBuckets.ensure("b", { actor: actor as string })
      ).rejects.toThrow()
    }
    // Only calls that change something have an actor.
    await expect(consumers.get("alice", { actor: "user-1" } as object)).rejects.toMatchObject({ _tag: "InvalidInput" })
    const log = await read(accountName)
    expect(log.map(({ actor }) => actor)).toEqual([{ type: "host", id: longest }])
    expect((await gate().account(accountName).meteringBuckets.list()).total).toBe(0)
  })
})

describe("events of deployments", () => {
  it("have the actor that asked for the upload URL, and their outcome is the system's", async () => {
    const store = MemoryStore.open()
    let isFailing = true
    const target = memoryTarget()
    const gate = await openGate(
      store,
      {},
      {
        target: {
          ...target,
          publish: (release) =>
            isFailing ? Effect.fail(new StepFailed({ problem: "it does not build" })) : target.publish(release)
        }
      }
    )
    const { deployments } = gate.account("acme").project("web")
    const deploy = async (actor?: string) => {
      const { uploadUrl } = await deployments.createSource({ branchName: "main" }, { actor })
      const { id } = await deployments.upload(uploadUrl, new Uint8Array(5))
      await eventually(async () => expect((await deployments.status(id)).status).not.toBe("IN_PROGRESS"))
      return { id, status: (await deployments.status(id)).status }
    }
    await deploy("user-1")
    const [failed] = (await deployments.list()).data
    isFailing = false
    await eventually(async () => expect((await deployments.list()).data[0]?.message).not.toBe(""))
    const first = await deploy()
    expect(first.status).toBe("SUCCESS")
    const [succeeded, name] = [(await deployments.list()).data[0], failed?.name ?? ""]
    await deploy()
    const [again] = (await deployments.list()).data
    const rolledBack = await deployments.rollback(name, { version: first.id }, { actor: "user-3" })
    await deployments.rollback(name, { version: first.id }, { actor: "user-3" })
    await deploy()
    const [waiting] = (await deployments.list()).data
    const promoted = await deployments.promote(name, {}, { actor: "user-4" })
    await deployments.promote(name, {}, { actor: "user-4" })
    await deployments.remove(name, { actor: "user-2" })
    const log = await readLog(store, gate, "acme")
    expect(log.map(({ type, actor }) => ({ type, actor }))).toEqual([
      { type: "deployment.created", actor: { type: "host", id: "user-1" } },
      { type: "deployment.failed", actor: { type: "system" } },
      { type: "deployment.succeeded", actor: { type: "system" } },
      { type: "deployment.succeeded", actor: { type: "system" } },
      { type: "deployment.rolled_back", actor: { type: "host", id: "user-3" } },
      { type: "deployment.succeeded", actor: { type: "system" } },
      { type: "deployment.promoted", actor: { type: "host", id: "user-4" } },
      { type: "deployment.deleted", actor: { type: "host", id: "user-2" } }
    ])
    const subject = { type: "deployment", id: name, name }
    expect(new Set(log.map((event) => JSON.stringify(event.subject)))).toEqual(new Set([JSON.stringify(subject)]))
    expect(log[0]?.data).toMatchObject({ state: "PENDING", message: "", name: failed?.name })
    expect(log.slice(1).map(({ data }) => data)).toEqual([
      failed,
      succeeded,
      again,
      rolledBack,
      waiting,
      promoted,
      promoted
    ])
    expect([rolledBack.isPinned, waiting?.isPinned, promoted.isPinned]).toEqual([true, true, undefined])
    await gate.close()
  })
})

describe("a change of the secret", () => {
  it("writes no events when keys are encrypted again", async () => {
    const store = MemoryStore.open()
    const before = await openGate(store)
    const { consumers } = before.account("acme").keyBucket("production")
    const { apiKeys } = await consumers.create({ name: "alice" }, { withApiKey: true })
    const log = await readLog(store, before, "acme")
    await before.close()
    const after = await openGate(store, { secret: ["another-secret-with-at-least-32-characters", secret] })
    expect(await after.account("acme").keyBucket("production").verify(apiKeys[0].key)).toMatchObject({ valid: true })
    expect(await after.reencryptKeys()).toMatchObject({ reencrypted: 1 })
    expect(await readLog(store, after, "acme")).toEqual(log)
    await after.close()
  })
})
