import { assert, describe, expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import {
  type DeploymentTarget,
  deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type SourceStore,
  StepFailed,
  targetFromPromises
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import {
  branch,
  content,
  createUploadUrl,
  eventually,
  flushEventLoop,
  getStatus,
  listDeployments,
  makeInterleaved,
  startDisconnectableProcess,
  startProcess,
  upload,
  waitForSuccess,
  waitUntil
} from "../../core/test/processes.ts"
import { secret } from "../../core/test/stores.ts"

/** A target whose publish step never ends. */
const hangingTarget: DeploymentTarget = { publish: () => Effect.never }

describe("an upload URL", () => {
  it.effect("is valid for an hour", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget())
      const early = yield* createUploadUrl(uploads)
      const late = yield* createUploadUrl(uploads)
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* uploads.receive(early, content)).bytes, 8)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* Effect.flip(uploads.receive(late, content)))._tag, "UploadForbidden")
    }).pipe(Effect.scoped)
  )

  it.effect("remains valid after a client stalls and its upload fails", () =>
    Effect.gen(function* () {
      const sources = memorySourceStore()
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), memoryTarget(), sources)
      const url = yield* createUploadUrl(uploads)
      const silent = Stream.concat(content, Stream.never)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(url, silent)))
      yield* flushEventLoop
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(sending))._tag, "RequestTimeout")
      assert.strictEqual((yield* Effect.flip(getStatus(deployments, url.id)))._tag, "StatusNotFound")
      assert.strictEqual((yield* uploads.receive(url, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("is deleted after it expires", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { uploads } = yield* startProcess(store, memoryTarget())
      const before = (yield* store.list("deployments" as never, [{ indexTerms: ["upload"], offset: 0, limit: 10 }]))[0]
        ?.total
      yield* uploads.createSource({ payload: branch })
      const count = Effect.map(
        store.list("deployments" as never, [{ indexTerms: ["upload"], offset: 0, limit: 10 }]),
        ([page]) => page?.total
      )
      assert.deepStrictEqual([before, yield* count], [0, 1])
      yield* TestClock.adjust("2 hours")
      yield* eventually(count, (total) => total === 0)
    }).pipe(Effect.scoped)
  )
})

describe("a run", () => {
  it.effect("is taken over when its holder stops renewing, and the old holder cannot publish", () =>
    Effect.gen(function* () {
      const [shared, sources] = [MemoryStore.open(), memorySourceStore()]
      const published: Array<string> = []
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const started = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const target = (process: 0 | 1): DeploymentTarget => ({
        publish: ({ id }) =>
          Effect.gen(function* () {
            yield* Deferred.succeed(started[process] as Deferred.Deferred<void>, undefined)
            yield* Deferred.await(gates[process] as Deferred.Deferred<void>)
            published.push(id)
          })
      })
      const first = yield* startDisconnectableProcess(shared, target(0), sources)
      const id = yield* upload(first.uploads)
      yield* Deferred.await(started[0] as Deferred.Deferred<void>)

      const second = yield* startProcess(shared, target(1), sources)
      yield* TestClock.adjust("30 seconds")
      yield* flushEventLoop
      assert.isFalse(yield* Deferred.isDone(started[1] as Deferred.Deferred<void>), "a renewed lease is not taken over")

      first.disconnect()
      yield* eventually(Deferred.isDone(started[1] as Deferred.Deferred<void>), (isStarted) => isStarted)
      first.reconnect()
      yield* Deferred.succeed(gates[0] as Deferred.Deferred<void>, undefined)
      yield* flushEventLoop
      yield* Deferred.succeed(gates[1] as Deferred.Deferred<void>, undefined)
      const status = yield* eventually(getStatus(second.deployments, id), ({ value }) => value.status !== "IN_PROGRESS")
      assert.strictEqual(status.value.status, "SUCCESS")
      const [{ name } = assert.fail("expected a deployment")] = (yield* listDeployments(second.deployments)).data
      const served = yield* second.deployments.getServedRelease(name)
      assert.match(served, /\.2$/, "expected the second attempt to be served")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* first.deployments.getServedRelease(name), served)
    }).pipe(Effect.scoped)
  )

  it.effect("fails after it is interrupted twice", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const first = yield* startDisconnectableProcess(store, hangingTarget, sources)
      const id = yield* upload(first.uploads)
      let process = first
      for (let crash = 1; crash <= 2; crash++) {
        yield* eventually(getStatus(process.deployments, id), ({ value }) => {
          const takeovers = value.buildResult.log.filter((line) => line.startsWith("Taken over")).length
          return value.steps.publish.status === "running" && takeovers === crash - 1
        })
        process.disconnect()
        process = yield* startDisconnectableProcess(store, hangingTarget, sources)
      }
      const { value } = yield* eventually(
        getStatus(process.deployments, id),
        ({ value }) => value.status !== "IN_PROGRESS"
      )
      assert.strictEqual(value.status, "ERROR")
      assert.match(value.buildResult.error ?? "", /interrupted 2 times/)
      const { data } = yield* listDeployments(process.deployments)
      assert.deepInclude(data[0], { state: "ERRORED", message: "interrupted" })
    }).pipe(Effect.scoped)
  )

  it.effect("times out if its target hangs", () =>
    Effect.gen(function* () {
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), hangingTarget)
      const id = yield* upload(uploads)
      yield* eventually(getStatus(deployments, id), ({ value }) => value.steps.publish.status === "running")
      for (let minute = 0; minute < 61; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* flushEventLoop
      }
      const { value } = yield* eventually(getStatus(deployments, id), ({ value }) => value.status !== "IN_PROGRESS")
      assert.match(value.buildResult.error ?? "", /longer than 1 hour/)
    }).pipe(Effect.scoped)
  )

  it.effect("reports the failed step, and hides the details of unexpected errors", () =>
    Effect.gen(function* () {
      const failing = (step: string): DeploymentTarget => {
        const outcome = (name: string) =>
          name === step ? Effect.fail(new StepFailed({ problem: `no ${name}`, exitCode: 7 })) : Effect.void
        return {
          unpack: () => Effect.as(outcome("unpack"), { files: 1, bytes: 2 }),
          build: () => Effect.as(outcome("build"), { exitCode: 0 }),
          check: () => outcome("check"),
          publish: () => outcome("publish")
        }
      }
      const expected = {
        unpack: "source-rejected",
        build: "build-failed",
        check: "check-failed",
        publish: "publish-failed"
      }
      for (const [step, message] of Object.entries(expected)) {
        const { uploads, deployments } = yield* startProcess(MemoryStore.open(), failing(step))
        const id = yield* upload(uploads)
        const { value } = yield* eventually(getStatus(deployments, id), ({ value }) => value.status !== "IN_PROGRESS")
        assert.deepInclude(value.steps[step as "build"], { status: "failed", message: `no ${step}` })
        assert.deepInclude(value.buildResult, { error: `no ${step}`, exitCode: 7 })
        assert.strictEqual((yield* listDeployments(deployments)).data[0]?.message, message)
      }
      const broken: DeploymentTarget = { publish: () => Effect.die(new Error("the password is hunter2")) }
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), broken)
      const id = yield* upload(uploads)
      const { value } = yield* eventually(getStatus(deployments, id), ({ value }) => value.status !== "IN_PROGRESS")
      assert.match(value.buildResult.error ?? "", /Internal error/)
      assert.notInclude(JSON.stringify(value), "hunter2")
    }).pipe(Effect.scoped)
  )
})

describe("two uploads of a branch", () => {
  it.effect("keep only the source of the later one, for any interleaving of store calls", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const storedKeys = new Set<string>()
        const inner = memorySourceStore()
        const sources: SourceStore = {
          ...inner,
          put: (key, stream) => Effect.tap(inner.put(key, stream), () => Effect.sync(() => storedKeys.add(key))),
          remove: (key) => Effect.tap(inner.remove(key), () => Effect.sync(() => storedKeys.delete(key)))
        }
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const { uploads, deployments, stop } = yield* startProcess(store, memoryTarget(), sources)
        yield* waitForSuccess(deployments, yield* upload(uploads))
        const [one, other] = [yield* createUploadUrl(uploads), yield* createUploadUrl(uploads)]
        const { interleave, ended: otherEnded } = yield* makeInterleaved(Effect.orDie(uploads.receive(other, content)))
        injectAt(call, { interleave })
        yield* uploads.receive(one, content)
        isOver = calls() < call
        injectAt(0, "fail")
        yield* isOver ? interleave : otherEnded
        const [{ name } = assert.fail("expected a deployment")] = (yield* listDeployments(deployments)).data
        const ended = Effect.forEach([one.id, other.id], (id) => getStatus(deployments, id))
        yield* eventually(ended, (all) => all.every(({ value }) => value.status !== "IN_PROGRESS"))
        yield* eventually(Effect.succeed(storedKeys), ({ size }) => size === 1)
        const [latest] = [one.id, other.id].filter((id) => [...storedKeys].some((key) => key.includes(id)))
        assert.isDefined(latest, `after call ${call}`)
        // Only the latest version can be deployed again, so it is the one whose source is stored.
        assert.strictEqual((yield* deployments.deploy({ params: { deploymentName: name } })).status, "request enqueued")
        // The run waits if the one before it still holds the lease.
        yield* eventually(getStatus(deployments, latest ?? ""), ({ value }) => value.status === "SUCCESS")
        assert.include(yield* deployments.getServedRelease(name), latest)
        yield* stop
      }
    }).pipe(Effect.scoped)
  )
})

describe("a process without free slots", () => {
  it.effect("queues a run once, however often it is scheduled", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const gate = yield* Deferred.make<void>()
      let [publishing, reads, trackedId] = [0, 0, "not set"]
      const countingStore: StoreOperations = {
        ...store,
        get: (partition, keys) => {
          if (keys.some((key) => key.includes(trackedId))) reads++
          return store.get(partition, keys)
        }
      }
      const blockedTarget: DeploymentTarget = {
        publish: () =>
          Effect.suspend(() => {
            publishing++
            return Deferred.await(gate)
          })
      }
      const full = yield* startProcess(countingStore, blockedTarget, sources)
      for (const name of ["one", "two", "three", "four"]) {
        const otherBranch = { ...branch, projectName: ProjectName.make(name) }
        yield* full.uploads.receive(yield* createUploadUrl(full.uploads, otherBranch), content)
      }
      yield* waitUntil(() => publishing === 4)
      const id = yield* upload(full.uploads)
      const [{ name } = assert.fail("expected a deployment")] = (yield* listDeployments(full.deployments)).data
      for (let redeploy = 0; redeploy < 20; redeploy++) {
        if (redeploy > 0) {
          const { status } = yield* full.deployments.deploy({ params: { deploymentName: name } })
          assert.strictEqual(status, "request enqueued")
        }
        const other = yield* startProcess(store, memoryTarget(), sources)
        yield* eventually(getStatus(other.deployments, id), ({ value }) => value.status === "SUCCESS")
        yield* other.stop
      }
      trackedId = id
      yield* Deferred.succeed(gate, undefined)
      yield* waitUntil(() => reads > 0)
      yield* Effect.repeat(flushEventLoop, { times: 20 })
      assert.strictEqual(reads, 1, "expected one read of the queued version")
    }).pipe(Effect.scoped)
  )
})

describe("a removal", () => {
  it.effect("times out if the target hangs, and does not delay runs", () =>
    Effect.gen(function* () {
      const target: DeploymentTarget = { publish: () => Effect.void, remove: () => Effect.never }
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), target)
      const id = yield* upload(uploads)
      yield* eventually(getStatus(deployments, id), ({ value }) => value.status === "SUCCESS")
      const [{ name } = assert.fail("expected a deployment")] = (yield* listDeployments(deployments)).data
      const removing = yield* Effect.forkChild(deployments.remove({ params: { deploymentName: name } }))
      yield* eventually(listDeployments(deployments), ({ total }) => total === 0)
      yield* TestClock.adjust("61 seconds")
      yield* Fiber.join(removing)
      // The scheduler retries the removal in the background.
      const second = yield* upload(uploads)
      yield* eventually(getStatus(deployments, second), ({ value }) => value.status === "SUCCESS")
    }).pipe(Effect.scoped)
  )
})

describe("targetFromPromises", () => {
  it("runs, reports failures and removes", async () => {
    const seen: Array<string> = []
    const target = targetFromPromises({
      build: async ({ log, deployment }) => {
        log(`building ${deployment.branchName}`)
        if (deployment.branchName === "bad") throw new Error("it does not compile")
        return { exitCode: 0 }
      },
      publish: async ({ source, deployment }) => {
        seen.push(`${deployment.name} ${await new Response(source()).text()}`)
      },
      remove: async (name) => void seen.push(`removed ${name}`),
      url: (name) => `https://${name}.example.com/`
    })
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      publicUrl: "http://gate",
      modules: [deployments({ sources: memorySourceStore(), target })]
    })
    const web = gate.account("acme").project("web").deployments
    const deploy = async (branchName: string) => {
      const { uploadUrl } = await web.createSource({ branchName })
      const { id } = await web.upload(uploadUrl, new TextEncoder().encode(`source of ${branchName}`))
      return vi.waitFor(
        async () => {
          const status = await web.status(id)
          assert.notStrictEqual(status.status, "IN_PROGRESS")
          return status
        },
        { timeout: 60_000 }
      )
    }
    const good = await deploy("good")
    assert.match(good.url, /^https:\/\/web-good-[a-z2-7]{12}\.example\.com\/$/)
    assert.include(good.buildResult.log, "building good")
    const bad = await deploy("bad")
    assert.deepInclude(bad.steps.build, { status: "failed", message: "it does not compile" })
    assert.isFalse(gate.matches("/sites/web-good/"), "expected no site paths without a serve method")
    const { data } = await web.list()
    await web.remove(data[0]?.name ?? "")
    assert.deepStrictEqual(seen, [`${data[0]?.name} source of good`, `removed ${data[0]?.name}`])
    await gate.close()
  })
})

describe("a response of a target", () => {
  it("may have a failed or uncancellable body for a HEAD request", async () => {
    const streams = [
      () => new ReadableStream({ start: (controller) => controller.error(new Error("failed")) }),
      () => new ReadableStream({ cancel: () => Promise.reject(new Error("cannot be cancelled")) })
    ]
    for (const stream of streams) {
      const gate = await createTollgate({
        store: MemoryStore.open(),
        secret,
        publicUrl: "http://gate",
        modules: [
          deployments({
            sources: memorySourceStore(),
            target: { ...memoryTarget(), serve: () => Effect.succeed(new Response(stream())) }
          })
        ]
      })
      const web = gate.account("acme").project("web").deployments
      const { uploadUrl } = await web.createSource({ branchName: "main" })
      await web.upload(uploadUrl, new Uint8Array(10))
      const getUrl = async () => (await web.list()).data[0]?.url ?? ""
      await expect.poll(getUrl).not.toBe("")
      await expect
        .poll(async () => (await gate.handler(new Request(await getUrl(), { method: "HEAD" }))).status)
        .toBe(200)
      await gate.close()
    }
  })
})

describe("the module", () => {
  it("is required: without it, all deployment endpoints respond with 404", async () => {
    const tokens = [{ token: "a-management-token-of-this-test", account: "acme" }]
    const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens })
    const headers = { authorization: "Bearer a-management-token-of-this-test" }
    const body = JSON.stringify(branch)
    for (const [method, path] of [
      ["POST", "/v1/deployments/sources"],
      ["GET", "/v1/accounts/acme/projects/web/deployments"],
      ["GET", "/v1/accounts/acme/projects/web/deployment-status/x"],
      ["GET", "/v1/deployments/x"],
      ["DELETE", "/v1/deployments/x"],
      ["POST", "/v1/deployments/x/deploy"],
      ["POST", "/v1/deployments/x/rollback"],
      ["POST", "/v1/deployments/x/promote"],
      ["PUT", "/v1/uploads/x.tar.gz"]
    ] as const) {
      const bodyInit = path.endsWith("/sources") || method === "PUT" ? { body } : {}
      const response = await gate.handler(new Request(`http://gate${path}`, { method, headers, ...bodyInit }))
      assert.strictEqual(response.status, 404, path)
    }
    assert.isFalse(gate.matches("/sites/x/"))
    assert.isFalse(gate.matches("/v1/deployments/x"))
    await gate.close()
  })

  it("validates its options together with publicUrl", async () => {
    const publicUrl = "https://a.example"
    const invalid: ReadonlyArray<readonly [options: object, publicUrl: string | undefined, message: RegExp]> = [
      [{}, undefined, /publicUrl/],
      [{}, "example.com", /publicUrl/],
      [{ sitesUrl: "ftp://b" }, publicUrl, /sitesUrl/],
      [{ sitesUrl: "https://a.example/sites" }, publicUrl, /sitesUrl/],
      [{ sitesUrl: "https://A.example.:8443" }, publicUrl, /sitesUrl: .*publicUrl/],
      [{ sitesUrl: "https://{name}.b.example" }, "https://x.b.example", /sitesUrl: .*publicUrl/],
      [{ sitesUrl: "https://a.example" }, publicUrl, /sitesUrl: .*publicUrl/],
      [{ sitesUrl: "https://x.{name}.example" }, publicUrl, /sitesUrl: .*first label/],
      [{ sitesUrl: "https://x{name}.example" }, publicUrl, /sitesUrl: .*first label/],
      [{ sitesUrl: "https://{name}.{name}.b" }, publicUrl, /sitesUrl: .*first label/],
      [{ sitesUrl: "https://b.example/{name}" }, publicUrl, /sitesUrl: .*first label/],
      [{ sitesUrl: "https://{name}.b.example/x" }, publicUrl, /sitesUrl: .*no path/],
      [{ sitesUrl: "https://{name}" }, publicUrl, /sitesUrl: .*first label/],
      [{ sourceLimit: 0 }, publicUrl, /sourceLimit/],
      [{ sources: undefined }, publicUrl, /^sources: must be a source store/]
    ]
    const store = MemoryStore.open()
    const open = async (options: object, publicUrl: string | undefined) => {
      const module = deployments({ sources: memorySourceStore(), target: memoryTarget(), ...options })
      return createTollgate({ store, secret, publicUrl, modules: [module] })
    }
    for (const [options, publicUrl, message] of invalid) {
      const error = await open(options, publicUrl).then(
        () => "",
        (error: Error) => error.message
      )
      assert.match(error, message)
    }
  })
})
