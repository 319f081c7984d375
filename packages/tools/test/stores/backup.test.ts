/**
 * Follows docs/operations/backup.md: backs up a server that is written to, and starts a second one from the backup only.
 */

import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { type DeploymentsModule, deployments } from "@tollgate/deployments"
import { sites } from "@tollgate/sites"
import type { StoreOperations } from "@tollgate/store"
import { eventually, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"
import { create } from "tar"
import { backedUpStores } from "./backups.ts"

const secret = "a secret that only this test uses"
const page = "<h1>From the backup</h1>"
const quota = 1_000_000

/** A server over a store, with the secret and the sites in a folder. */
const open = async (store: StoreOperations, folder: string): Promise<Tollgate<DeploymentsModule>> =>
  createTollgate({
    store,
    secret: await readFile(join(folder, "secret"), "utf8"),
    publicUrl: "http://localhost",
    modules: [deployments(sites({ folder: join(folder, "sites") }))]
  })

const getKeys = (gate: Tollgate) => gate.account("acme").keyBucket("production")

/** Deploys a page and returns its URL. */
const deploy = async (gate: Tollgate<DeploymentsModule>, folder: string): Promise<string> => {
  await mkdir(join(folder, "page"))
  await writeFile(join(folder, "page", "index.html"), page)
  await create({ gzip: true, file: join(folder, "page.tar.gz"), cwd: join(folder, "page") }, ["."])
  const { deployments } = gate.account("acme").project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: "main" })
  const { id } = await deployments.upload(uploadUrl, await readFile(join(folder, "page.tar.gz")))
  return eventually(async () => {
    const status = await deployments.status(id)
    assert.strictEqual(status.status, "SUCCESS")
    return status.url
  })
}

const prepareBilling = async (gate: Tollgate) => {
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  await billing.plans.create({ label: "free", meters: { requests: { label: "Requests", max: quota } } })
  const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["free"] })
  return { bucketId: billing.id, subscriptionId: id }
}

/** Creates keys and counts requests, one after the other, until it is stopped. */
const startWriting = (gate: Tollgate, bucketId: string, subscriptionId: string) => {
  const keys: Array<string> = []
  let isStopped = false
  const { usage } = gate.account("acme").meteringBucket(bucketId)
  const write = async () => {
    while (!isStopped) {
      const name = `consumer-${keys.length}`
      const { apiKeys } = await getKeys(gate).consumers.create({ name }, { withApiKey: true })
      keys.push(apiKeys[0].key ?? "")
      await usage.consume(subscriptionId, { requests: 1 })
    }
  }
  const done = write()
  return {
    keys,
    stop: async () => {
      isStopped = true
      await done
    }
  }
}

/** Long, because the test starts several servers on a machine that may be busy. */
const timeoutMs = 120_000

describe.each(Object.entries(backedUpStores))("a backup of %s", (_name, start) => {
  it.live(
    "is all that a new server needs",
    () =>
      Effect.gen(function* () {
        const { store, backUp, restore } = yield* start
        const [folder, backup] = [yield* temporaryFolder, yield* temporaryFolder]
        yield* Effect.promise(() => writeFile(join(folder, "secret"), secret))
        const running = yield* Effect.promise(() => open(store, folder))

        const { siteUrl, bucketId, subscriptionId, keys, keysBefore } = yield* Effect.promise(async () => {
          const siteUrl = await deploy(running, folder)
          const billing = await prepareBilling(running)
          const writing = startWriting(running, billing.bucketId, billing.subscriptionId)
          await eventually(() => assert.isAbove(writing.keys.length, 20))
          const keysBefore = writing.keys.length
          await backUp(backup)
          await cp(join(folder, "sites"), join(backup, "sites"), { recursive: true })
          await cp(join(folder, "secret"), join(backup, "secret"))
          const keysAfter = writing.keys.length
          await eventually(() => assert.isAbove(writing.keys.length, keysAfter + 5))
          await writing.stop()
          // A key that is deleted after the backup works again in the restored store.
          await getKeys(running).consumers.remove("consumer-0")
          await running.close()
          await store.close()
          return { siteUrl, ...billing, keys: writing.keys, keysBefore }
        })

        const restored = yield* restore(backup)
        yield* Effect.promise(async () => {
          const gate = await open(restored, backup)
          const results = await Promise.all(keys.map((key) => getKeys(gate).verify(key)))
          const valid = results.filter(({ valid }) => valid).length
          // All keys up to one moment, at or after the start of the backup, and none after it.
          assert.deepStrictEqual(
            results.map(({ valid }) => valid),
            keys.map((_, index) => index < valid)
          )
          assert.isAtLeast(valid, keysBefore)
          assert.isBelow(valid, keys.length)

          // Each request was counted after its key was created, and before the next one was.
          const { usage } = gate.account("acme").meteringBucket(bucketId)
          const { data } = await usage.series(subscriptionId, { step: "day" })
          const used = data.reduce((sum, { meters }) => sum + (meters["requests"] ?? 0), 0)
          assert.include([valid - 1, valid], used)
          const quotas = await usage.consume(subscriptionId, { requests: 1 })
          assert.strictEqual(quotas.meters["requests"]?.used, used + 1)

          const response = await gate.handler(new Request(siteUrl))
          assert.deepStrictEqual([response.status, await response.text()], [200, page])
          await gate.close()

          await writeFile(join(backup, "secret"), "another secret, not the one of the backup")
          const error = await open(restored, backup).catch((error: unknown) => error)
          assert.include(String(error), "secret")
          await restored.close()
        })
      }),
    timeoutMs
  )
})
