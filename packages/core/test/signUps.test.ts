/**
 * Sign-up in one call: a consumer, its keys and its subscription, all or nothing, also when a call dies on the way.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { StoreUnavailable } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { Tollgate as Services } from "@tollgate/core/effect"
import { toNodeHandler } from "@tollgate/node"
import { Partition, Store, type StoreOperations } from "@tollgate/store"
import { Clock, Effect, Exit, Layer, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { signUpIntents } from "../src/consumers/signUpIntents.ts"
import { freshAccount, openGate, readLog, types, useGate } from "./eventGates.ts"
import { makeClient } from "./http/client.ts"
import { shiftClock } from "./shiftClock.ts"
import { secret, stores, tokens } from "./stores.ts"

const patience = { timeout: 60_000, interval: 20 }

describe.each(stores)("a sign-up, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (accountName = freshAccount(), on = gate()) => {
    const account = on.account(accountName)
    const billing = await account.meteringBuckets.ensure("billing")
    await billing.plans.create({ planExternalId: "free", meters: { requests: { max: 10 } } })
    const { consumers } = account.keyBucket("production")
    return { accountName, account, billing, consumers, bucket: account.keyBucket("production") }
  }
  const subscription = { meteringBucket: "billing", planExternalIds: ["free"] }

  const listIntents = (accountName: string) =>
    Effect.runPromise(
      Effect.map(
        signUpIntents.page(Partition.forKeyBucket(accountName, "production"), { offset: 0, limit: 100 }),
        ({ entries }) => entries
      ).pipe(Effect.provideService(Store, store()))
    )

  /** A gate that dies, or waits, at a commit: nothing that it does afterwards reaches the store. */
  const openDying = async (isFatal: (partition: string, changes: string) => "before" | "after" | undefined) => {
    let isDead = false
    const commit: StoreOperations["commit"] = (partition, changes, ...rest) => {
      const moment = isDead ? "before" : isFatal(partition, JSON.stringify(changes))
      if (moment !== undefined) isDead = true
      if (moment === "before") return Effect.never
      const applied = store().commit(partition, changes, ...rest)
      return moment === "after" ? Effect.andThen(applied, Effect.never) : applied
    }
    return openGate({ ...store(), commit }, { background: false })
  }

  /** A process whose clock is ahead, which undoes what is old by then. */
  const withLaterProcess = async (aheadMs: number, check: () => Promise<void>, on = store()) => {
    const scope = Scope.makeUnsafe()
    const services = Services.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, on)))
    const clock = shiftClock(Clock.Clock.defaultValue(), aheadMs)
    await Effect.runPromise(
      Effect.provideService(Layer.buildWithScope(Layer.fresh(services), scope), Clock.Clock, clock)
    )
    try {
      await check()
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  it("creates the consumer, its key and its subscription", async () => {
    const { accountName, billing, consumers, bucket } = await open()
    const alice = await consumers.create({ name: "alice", subscription }, { withApiKey: true })
    const created = alice.subscription
    expect(created).toEqual({
      id: expect.stringMatching(/^sbsc_/),
      meteringBucketId: billing.id,
      customerKey: "alice",
      planExternalIds: ["free"],
      status: "active"
    })
    expect(await billing.subscriptions.get(created?.id ?? "")).toMatchObject({
      customerKey: "alice",
      customerExternalId: "alice",
      subscriptionExternalId: created?.id,
      renewalStrategy: "monthly"
    })
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    expect(await bucket.authorize(alice.apiKeys[0].key ?? "", { metering })).toMatchObject({
      allowed: true,
      subscription: { id: created?.id }
    })
    expect(await consumers.get("alice")).not.toHaveProperty("subscription")
    expect(await listIntents(accountName)).toEqual([])
    const log = await readLog(store(), gate(), accountName)
    expect([...types(log)].sort()).toEqual(
      ["consumer.created", "key.created", "metering_bucket.created", "plan.created", "subscription.created"].sort()
    )
  })

  it("subscribes the customer of the consumer, with the fields of a subscription", async () => {
    const { billing, consumers } = await open()
    const { subscription: created } = await consumers.create({
      name: "alice",
      customerKey: "org_1",
      subscription: {
        meteringBucket: billing.id,
        planExternalIds: ["free"],
        status: "trialing",
        renewalStrategy: "yearly",
        subscriptionExternalId: "sub_1",
        customerExternalId: "cus_1",
        metadata: { seat: 1 }
      }
    })
    expect(created).toMatchObject({ customerKey: "org_1", status: "trialing" })
    expect(await billing.subscriptions.get(created?.id ?? "")).toMatchObject({
      renewalStrategy: "yearly",
      subscriptionExternalId: "sub_1",
      customerExternalId: "cus_1",
      metadata: { seat: 1 }
    })
  })

  it("writes nothing if the subscription or the consumer cannot be created", async () => {
    const { accountName, account, billing, consumers } = await open()
    const other = gate().account(freshAccount())
    const foreign = await other.meteringBuckets.ensure("theirs")
    await foreign.plans.create({ planExternalId: "free", meters: { requests: { max: 10 } } })
    await billing.plans.create({ planExternalId: "hourly", meters: { requests: { max: 1, period: "hour" } } })
    await billing.subscriptions.create({
      customerKey: "bob",
      planExternalIds: ["free"],
      subscriptionExternalId: "taken"
    })
    await consumers.create({ name: "bob" })
    const events = async () => (await readLog(store(), gate(), accountName)).length
    const before = await events()
    const signUp = (name: string, fields: object) =>
      consumers.create({ name, subscription: { ...subscription, ...fields } }, { withApiKey: true })
    const refusals: ReadonlyArray<[string, object, string]> = [
      ["alice", { planExternalIds: ["none"] }, "unknown-plan"],
      ["alice", { planExternalIds: ["free", "hourly"] }, "conflicting-periods"],
      ["alice", { planExternalIds: [] }, "bad-request"],
      ["alice", { customerKey: "carol" }, "bad-request"],
      ["alice", { subscriptionExternalId: "taken" }, "subscription-external-id-taken"],
      ["alice", { meteringBucket: "none" }, "bucket-not-found"],
      ["alice", { meteringBucket: "No/Name" }, "bucket-not-found"],
      ["alice", { meteringBucket: foreign.id }, "bucket-not-found"],
      ["alice", { meteringBucket: "theirs" }, "bucket-not-found"],
      ["bob", {}, "consumer-name-taken"],
      // The subscription comes first.
      ["bob", { planExternalIds: ["none"] }, "unknown-plan"]
    ]
    for (const [name, fields, code] of refusals) {
      await expect(signUp(name, fields), JSON.stringify(fields)).rejects.toMatchObject({ code })
    }
    await expect(consumers.get("alice")).rejects.toMatchObject({ code: "consumer-not-found" })
    expect((await billing.subscriptions.list()).total).toBe(1)
    expect(await listIntents(accountName)).toEqual([])
    expect(await events()).toBe(before)
    expect((await account.search("alice")).data).toEqual([])
  })

  it("removes the subscription at once if the consumer turns out to be taken", async () => {
    const { accountName, billing, consumers } = await open()
    await consumers.create({ name: "bob", apiKeys: [{ key: "a-key-value-that-bob-has" }] })
    const apiKeys = [{ key: "a-key-value-that-bob-has" }]
    await expect(consumers.create({ name: "alice", apiKeys, subscription })).rejects.toMatchObject({
      code: "key-value-taken"
    })
    expect((await billing.subscriptions.list()).total).toBe(0)
    expect(await listIntents(accountName)).toEqual([])
    const log = (await readLog(store(), gate(), accountName)).filter(({ subject }) => subject.type === "subscription")
    expect(types(log)).toEqual(["subscription.created", "subscription.deleted"])
    expect(log.at(-1)?.actor).toEqual({ type: "system" })
  })

  it.each(["subscription", "consumer"])("leaves nothing if the commit of its %s is not applied", async (place) => {
    const { accountName, billing } = await open()
    let fails = true
    const commit: StoreOperations["commit"] = (partition, changes, ...rest) => {
      if (!fails || !JSON.stringify(changes).includes(`${place}.created`)) {
        return store().commit(partition, changes, ...rest)
      }
      fails = false
      return Effect.fail(new StoreUnavailable({ outcome: "not-applied" }))
    }
    const flaky = await openGate({ ...store(), commit }, { background: false })
    const { consumers } = flaky.account(accountName).keyBucket("production")
    const withId = { ...subscription, subscriptionExternalId: "sub_1" }
    const create = () => consumers.create({ name: "alice", subscription: withId }, { idempotencyKey: "sign-up-1" })
    await expect(create()).rejects.toMatchObject({ _tag: "StoreUnavailable", outcome: "not-applied" })
    expect((await billing.subscriptions.list()).total).toBe(0)
    expect(await listIntents(accountName)).toEqual([])
    // At once, although the first call had the same id.
    const { subscription: created } = await create()
    expect((await billing.subscriptions.list()).data).toMatchObject([{ id: created?.id }])
    await flaky.close()
  })

  it("has one winner among calls with the same name", async () => {
    const { billing, consumers } = await open()
    const calls = Array.from({ length: 8 }, () =>
      consumers.create({ name: "alice", subscription }, { withApiKey: true })
    )
    const settled = await Promise.allSettled(calls)
    const [winner, ...others] = settled.flatMap((call) => (call.status === "fulfilled" ? [call.value] : []))
    expect(others).toEqual([])
    for (const call of settled) {
      if (call.status === "rejected") expect(call.reason).toMatchObject({ code: "consumer-name-taken" })
    }
    const { data } = await billing.subscriptions.list()
    expect(data.map(({ id }) => id)).toEqual([winner?.subscription?.id])
  })

  it("returns the same consumer to retries with its Idempotency-Key, over HTTP, in process and in a client", async () => {
    const { accountName, billing } = await open("acme")
    const call = makeClient(gate().handler)
    const path = `/v1/accounts/${accountName}/key-buckets/retries/consumers?with-api-key=true`
    const headers = { "idempotency-key": "sign-up-1" }
    const request = () => call("POST", path, { body: { name: "alice", subscription }, headers })
    const first = await request()
    expect(first).toMatchObject({ status: 200, body: { name: "alice", subscription: { planExternalIds: ["free"] } } })
    expect((await request()).body).toEqual(first.body)
    const { consumers } = gate().account(accountName).keyBucket("retries")
    const retry = () =>
      consumers.create({ name: "bob", subscription }, { withApiKey: true, idempotencyKey: "sign-up-2" })
    const [bob, ...repeated] = [await retry(), await retry(), ...(await Promise.all([retry(), retry()]))]
    for (const other of repeated) expect(other).toEqual(bob)

    const server = createServer(toNodeHandler(gate()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const remote = createClient({ baseUrl, token: tokens.writer }).account(accountName).keyBucket("retries")
    const carol = await remote.consumers.create(
      { name: "carol", subscription },
      { withApiKey: true, idempotencyKey: "sign-up-3" }
    )
    expect(carol.subscription?.customerKey).toBe("carol")
    expect(carol.apiKeys[0].key).toBeDefined()
    const failed = remote.consumers.create({ name: "dave", subscription: { ...subscription, planExternalIds: ["x"] } })
    await expect(failed).rejects.toMatchObject({ code: "unknown-plan" })
    server.close()
    expect((await billing.subscriptions.list()).total).toBe(3)
  })

  it.each(["before", "after"] as const)(
    "that died %s its subscription was created leaves nothing, and does not block the name",
    async (moment) => {
      const opened = await open()
      const { accountName, billing, consumers } = opened
      const dying = await openDying((partition, changes) =>
        partition.startsWith("metering") && changes.includes("subscription.created") ? moment : undefined
      )
      const { consumers: ofDying } = dying.account(accountName).keyBucket("production")
      void ofDying.create({ name: "alice", subscription }, { withApiKey: true }).catch(() => undefined)
      const isWritten = moment === "after" ? 1 : 0
      await expect.poll(async () => (await listIntents(accountName)).length, patience).toBe(1)
      await expect.poll(async () => (await billing.subscriptions.list()).total, patience).toBe(isWritten)
      await expect(consumers.get("alice")).rejects.toMatchObject({ code: "consumer-not-found" })
      // At once, with a subscription of another id.
      const again = await consumers.create({ name: "alice", subscription }, { withApiKey: true })
      await withLaterProcess(61_000, async () => {
        await expect.poll(() => listIntents(accountName), patience).toEqual([])
        const { data } = await billing.subscriptions.list()
        expect(data.map(({ id }) => id)).toEqual([again.subscription?.id])
      })
    }
  )

  it("that died keeps its subscriptionExternalId until it is undone, and a refusal says so", async () => {
    const { accountName, billing, consumers } = await open()
    const dying = await openDying((_, changes) => (changes.includes("consumer.created") ? "before" : undefined))
    const { consumers: ofDying } = dying.account(accountName).keyBucket("production")
    const withId = { ...subscription, subscriptionExternalId: "sub_1" }
    void ofDying.create({ name: "alice", subscription: withId }).catch(() => undefined)
    await expect.poll(async () => (await billing.subscriptions.list()).total, patience).toBe(1)
    const refusal = { code: "subscription-external-id-taken", detail: expect.stringContaining("60 seconds") }
    await expect(consumers.create({ name: "alice", subscription: withId })).rejects.toMatchObject(refusal)
    await withLaterProcess(61_000, async () => {
      await expect.poll(() => listIntents(accountName), patience).toEqual([])
    })
    const again = await consumers.create({ name: "alice", subscription: withId })
    expect((await billing.subscriptions.list()).data).toMatchObject([{ id: again.subscription?.id }])
  })

  it("that takes longer than a minute fails after it was undone, wherever it was", async () => {
    for (const place of ["subscription", "consumer"]) {
      const { accountName, billing, consumers } = await open()
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      let isWaiting = false
      const commit: StoreOperations["commit"] = (partition, changes, ...rest) => {
        const applied = store().commit(partition, changes, ...rest)
        if (!JSON.stringify(changes).includes(`${place}.created`)) return applied
        isWaiting = true
        return Effect.andThen(
          Effect.promise(() => released),
          applied
        )
      }
      const slow = await openGate({ ...store(), commit }, { background: false })
      const call = slow
        .account(accountName)
        .keyBucket("production")
        .consumers.create({ name: "alice", subscription }, { withApiKey: true })
      const outcome = call.catch((error: unknown) => error)
      await expect.poll(() => isWaiting, patience).toBe(true)
      await withLaterProcess(61_000, async () => {
        await expect.poll(() => listIntents(accountName), patience).toEqual([])
      })
      release()
      expect(await outcome, place).toMatchObject({ _tag: "StoreUnavailable", outcome: "not-applied" })
      expect((await billing.subscriptions.list()).total).toBe(0)
      await expect(consumers.get("alice")).rejects.toMatchObject({ code: "consumer-not-found" })
      await slow.close()
    }
  })

  it("is undone also if the store fails at any step, before or after it is applied", async () => {
    const steps = ['"isUndone', "sign-up-undone:", "subscription.deleted"].flatMap((step) => [
      { step, isApplied: false },
      { step, isApplied: true }
    ])
    const cases = await Promise.all(
      steps.map(async (step) => {
        const { accountName, billing } = await open()
        const dying = await openDying((_, changes) => (changes.includes("consumer.created") ? "before" : undefined))
        const { consumers } = dying.account(accountName).keyBucket("production")
        void consumers.create({ name: "alice", subscription }, { withApiKey: true }).catch(() => undefined)
        await expect.poll(async () => (await billing.subscriptions.list()).total, patience).toBe(1)
        return { ...step, accountName, billing, hasFailed: false }
      })
    )
    const commit: StoreOperations["commit"] = (partition, changes, ...rest) => {
      const [applied, text] = [store().commit(partition, changes, ...rest), JSON.stringify(changes)]
      const failing = cases.find(
        ({ step, hasFailed, accountName, billing }) =>
          !hasFailed && text.includes(step) && (partition.includes(accountName) || partition.includes(billing.id))
      )
      if (failing === undefined) return applied
      failing.hasFailed = true
      const outcome = failing.isApplied ? "unknown" : "not-applied"
      const fail = Effect.fail(new StoreUnavailable({ outcome, retryable: false }))
      return failing.isApplied ? Effect.andThen(applied, fail) : fail
    }
    await withLaterProcess(
      61_000,
      async () => {
        for (const { accountName, billing } of cases) {
          await expect.poll(() => listIntents(accountName), patience).toEqual([])
          expect((await billing.subscriptions.list()).total).toBe(0)
        }
      },
      { ...store(), commit }
    )
    expect(cases.filter(({ hasFailed }) => !hasFailed)).toEqual([])
  })

  it("is not undone before a minute has passed", async () => {
    const { accountName, billing } = await open()
    const dying = await openDying((_, changes) => (changes.includes("consumer.created") ? "before" : undefined))
    const { consumers } = dying.account(accountName).keyBucket("production")
    void consumers.create({ name: "alice", subscription }, { withApiKey: true }).catch(() => undefined)
    await expect.poll(async () => (await billing.subscriptions.list()).total, patience).toBe(1)
    const [intent] = await listIntents(accountName)
    expect(intent?.value).not.toHaveProperty("isUndone")
    await gate().account(accountName).meteringBuckets.remove(billing.id)
    // Without its metering bucket, nothing else is left to undo.
    await withLaterProcess(61_000, async () => {
      await expect.poll(() => listIntents(accountName), patience).toEqual([])
    })
  })

  it("needs the permissions for consumers and for metering", async () => {
    const { accountName } = await open()
    const withTokens = await openGate(store(), {
      tokens: ["consumers:write", "metering:write", "both"].map((name) => ({
        token: `token-of-${name}-for-the-test-of-sign-ups`,
        account: accountName,
        permissions: name === "both" ? ["consumers:write", "metering:write", "keys:write"] : [name, "keys:write"]
      }))
    })
    const call = makeClient(withTokens.handler)
    const signUp = (name: string) =>
      call("POST", `/v1/accounts/${accountName}/key-buckets/production/consumers?with-api-key=true`, {
        body: { name: "alice", subscription },
        token: `token-of-${name}-for-the-test-of-sign-ups`
      })
    expect(await signUp("consumers:write")).toMatchObject({ status: 403, body: { permission: "metering:write" } })
    expect(await signUp("metering:write")).toMatchObject({ status: 403, body: { permission: "consumers:write" } })
    expect(await signUp("both")).toMatchObject({ status: 200, body: { subscription: { customerKey: "alice" } } })
    await withTokens.close()
  })
})
