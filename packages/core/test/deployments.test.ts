import { assert, describe, expect, it } from "@effect/vitest"
import {
  createTollgate,
  type DeploymentTarget,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type SourceStore,
  StepFailed,
  type StoreOperations,
  targetFromPromises
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import {
  addressOf,
  branch,
  content,
  eventually,
  mortal,
  project,
  settled,
  startProcess,
  succeeded,
  untilSettled,
  upload
} from "./processes.ts"
import { secret } from "./stores.ts"

/** A target whose publishing never ends. */
const hanging: DeploymentTarget = { publish: () => Effect.never }

describe("an upload's address", () => {
  it.effect("is good for an hour", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget())
      const early = addressOf((yield* uploads.create(branch)).uploadUrl)
      const late = addressOf((yield* uploads.create(branch)).uploadUrl)
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* uploads.receive(early, content)).bytes, 8)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* Effect.flip(uploads.receive(late, content)))._tag, "UploadForbidden")
    }).pipe(Effect.scoped)
  )

  it.effect("is not good for a sender that falls silent", () =>
    Effect.gen(function* () {
      const sources = memorySourceStore()
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), memoryTarget(), sources)
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const silent = Stream.concat(content, Stream.never)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(address, silent)))
      yield* settled
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(sending))._tag, "UploadStalled")
      assert.strictEqual((yield* Effect.flip(deployments.status(project, address.id)))._tag, "StatusNotFound")
      assert.strictEqual((yield* uploads.receive(address, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("is forgotten when its time is over", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { uploads } = yield* startProcess(store, memoryTarget())
      const before = (yield* store.list("deployments" as never, [{ indexTerms: ["upload"], offset: 0, limit: 10 }]))[0]
        ?.total
      yield* uploads.create(branch)
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
  it.effect("is taken over when its holder falls silent, and the holder cannot publish any more", () =>
    Effect.gen(function* () {
      const [shared, sources] = [MemoryStore.open(), memorySourceStore()]
      const published: Array<string> = []
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const begun = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const target = (process: 0 | 1): DeploymentTarget => ({
        publish: ({ id }) =>
          Effect.gen(function* () {
            yield* Deferred.succeed(begun[process] as Deferred.Deferred<void>, undefined)
            yield* Deferred.await(gates[process] as Deferred.Deferred<void>)
            published.push(id)
          })
      })
      const first = yield* mortal(shared, target(0), sources)
      const id = yield* upload(first.uploads)
      yield* Deferred.await(begun[0] as Deferred.Deferred<void>)

      const second = yield* startProcess(shared, target(1), sources)
      yield* TestClock.adjust("30 seconds")
      yield* settled
      assert.isFalse(yield* Deferred.isDone(begun[1] as Deferred.Deferred<void>), "a lease that is renewed is kept")

      first.die()
      yield* eventually(Deferred.isDone(begun[1] as Deferred.Deferred<void>), (isBegun) => isBegun)
      first.revive()
      yield* Deferred.succeed(gates[0] as Deferred.Deferred<void>, undefined)
      yield* settled
      yield* Deferred.succeed(gates[1] as Deferred.Deferred<void>, undefined)
      const status = yield* eventually(
        second.deployments.status(project, id),
        ({ value }) => value.status !== "IN_PROGRESS"
      )
      assert.strictEqual(status.value.status, "SUCCESS")
      const [{ name } = assert.fail("there is a deployment")] = (yield* second.deployments.list(project, {
        limit: 1,
        offset: 0
      })).data
      const served = yield* second.deployments.served(name)
      assert.match(served, /\.2$/, "the second attempt is served")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* first.deployments.served(name), served)
    }).pipe(Effect.scoped)
  )

  it.effect("that is cut off again and again is ended", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const first = yield* mortal(store, hanging, sources)
      const id = yield* upload(first.uploads)
      let process = first
      for (let crash = 1; crash <= 2; crash++) {
        yield* eventually(process.deployments.status(project, id), ({ value }) => {
          const takenOver = value.buildResult.log.filter((line) => line.startsWith("Taken over")).length
          return value.steps.publish.status === "running" && takenOver === crash - 1
        })
        process.die()
        process = yield* mortal(store, hanging, sources)
      }
      const { value } = yield* eventually(
        process.deployments.status(project, id),
        ({ value }) => value.status !== "IN_PROGRESS"
      )
      assert.strictEqual(value.status, "ERROR")
      assert.match(value.buildResult.error ?? "", /cut off 2 times/)
      const { data } = yield* process.deployments.list(project, { limit: 1, offset: 0 })
      assert.deepInclude(data[0], { state: "ERRORED", message: "interrupted" })
    }).pipe(Effect.scoped)
  )

  it.effect("has an end, whatever its target does", () =>
    Effect.gen(function* () {
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), hanging)
      const id = yield* upload(uploads)
      yield* eventually(deployments.status(project, id), ({ value }) => value.steps.publish.status === "running")
      for (let minute = 0; minute < 61; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* settled
      }
      const { value } = yield* eventually(
        deployments.status(project, id),
        ({ value }) => value.status !== "IN_PROGRESS"
      )
      assert.match(value.buildResult.error ?? "", /longer than an hour/)
    }).pipe(Effect.scoped)
  )

  it.effect("tells of each step how it failed, and of a target's own mistakes nothing", () =>
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
        const { value } = yield* eventually(
          deployments.status(project, id),
          ({ value }) => value.status !== "IN_PROGRESS"
        )
        assert.deepInclude(value.steps[step as "build"], { status: "failed", message: `no ${step}` })
        assert.deepInclude(value.buildResult, { error: `no ${step}`, exitCode: 7 })
        assert.strictEqual((yield* deployments.list(project, { limit: 1, offset: 0 })).data[0]?.message, message)
      }
      const broken: DeploymentTarget = { publish: () => Effect.die(new Error("the password is hunter2")) }
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), broken)
      const id = yield* upload(uploads)
      const { value } = yield* eventually(
        deployments.status(project, id),
        ({ value }) => value.status !== "IN_PROGRESS"
      )
      assert.match(value.buildResult.error ?? "", /something went wrong on the server/)
      assert.notInclude(JSON.stringify(value), "hunter2")
    }).pipe(Effect.scoped)
  )
})

describe("two uploads of a branch", () => {
  it.effect("whose calls of the store mix in any way leave the later one whole, and no source of the other", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const kept = new Set<string>()
        const inner = memorySourceStore()
        const sources: SourceStore = {
          ...inner,
          put: (key, stream) => Effect.tap(inner.put(key, stream), () => Effect.sync(() => kept.add(key))),
          remove: (key) => Effect.tap(inner.remove(key), () => Effect.sync(() => kept.delete(key)))
        }
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const { uploads, deployments, stop } = yield* startProcess(store, memoryTarget(), sources)
        yield* succeeded(deployments, yield* upload(uploads))
        const [one, other] = [yield* uploads.create(branch), yield* uploads.create(branch)].map(({ uploadUrl }) =>
          addressOf(uploadUrl)
        )
        if (one === undefined || other === undefined) return assert.fail("there are two addresses")
        injectAt(call, { meanwhile: Effect.orDie(uploads.receive(other, content)) })
        yield* uploads.receive(one, content)
        isOver = calls() < call
        injectAt(0, "fail")
        if (isOver) yield* uploads.receive(other, content)
        const [{ name } = assert.fail("there is a deployment")] = (yield* deployments.list(project, {
          limit: 1,
          offset: 0
        })).data
        const ended = Effect.forEach([one.id, other.id], (id) => deployments.status(project, id))
        yield* eventually(ended, (all) => all.every(({ value }) => value.status !== "IN_PROGRESS"))
        yield* eventually(Effect.succeed(kept), ({ size }) => size === 1)
        const [latest] = [one.id, other.id].filter((id) => [...kept].some((key) => key.includes(id)))
        assert.isDefined(latest, `after call ${call}`)
        // The latest can be run again, so it is the one whose source is kept.
        assert.strictEqual((yield* deployments.deploy(name)).status, "request enqueued")
        yield* succeeded(deployments, latest ?? "")
        assert.include(yield* deployments.served(name), latest)
        yield* stop
      }
    }).pipe(Effect.scoped)
  )
})

describe("a process that has no room", () => {
  it.effect("notes a run once, however often it is asked for", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const gate = yield* Deferred.make<void>()
      let [publishing, reads, wanted] = [0, 0, "nothing yet"]
      const counted: StoreOperations = {
        ...store,
        get: (partition, keys) => {
          if (keys.some((key) => key.includes(wanted))) reads++
          return store.get(partition, keys)
        }
      }
      const held: DeploymentTarget = {
        publish: () =>
          Effect.suspend(() => {
            publishing++
            return Deferred.await(gate)
          })
      }
      const full = yield* startProcess(counted, held, sources)
      for (const name of ["one", "two", "three", "four"]) {
        const busy = { ...branch, projectName: ProjectName.make(name) }
        yield* full.uploads.receive(addressOf((yield* full.uploads.create(busy)).uploadUrl), content)
      }
      yield* untilSettled(() => publishing === 4)
      const id = yield* upload(full.uploads)
      const [{ name } = assert.fail("there is a deployment")] = (yield* full.deployments.list(project, {
        limit: 1,
        offset: 0
      })).data
      for (let redeploy = 0; redeploy < 20; redeploy++) {
        if (redeploy > 0) assert.strictEqual((yield* full.deployments.deploy(name)).status, "request enqueued")
        // A process that has just started finds it, and runs it, while no time passes.
        const other = yield* startProcess(store, memoryTarget(), sources)
        yield* succeeded(other.deployments, id)
        yield* other.stop
      }
      wanted = id
      yield* Deferred.succeed(gate, undefined)
      yield* untilSettled(() => reads > 0)
      yield* Effect.repeat(settled, { times: 20 })
      assert.strictEqual(reads, 1, "it looked once whether it is still to be run")
    }).pipe(Effect.scoped)
  )
})

describe("a removal", () => {
  it.effect("does not wait for ever for a target that hangs, and keeps no run waiting", () =>
    Effect.gen(function* () {
      const target: DeploymentTarget = { publish: () => Effect.void, remove: () => Effect.never }
      const { uploads, deployments } = yield* startProcess(MemoryStore.open(), target)
      const id = yield* upload(uploads)
      yield* eventually(deployments.status(project, id), ({ value }) => value.status === "SUCCESS")
      const [{ name } = assert.fail("there is a deployment")] = (yield* deployments.list(project, {
        limit: 1,
        offset: 0
      })).data
      const removing = yield* Effect.forkChild(deployments.remove(name))
      yield* eventually(deployments.list(project, { limit: 1, offset: 0 }), ({ total }) => total === 0)
      yield* TestClock.adjust("61 seconds")
      yield* Fiber.join(removing)
      // What is left of it is tried again beside everything else.
      const again = yield* upload(uploads)
      yield* eventually(deployments.status(project, again), ({ value }) => value.status === "SUCCESS")
    }).pipe(Effect.scoped)
  )
})

describe("a target of promises", () => {
  it("runs, fails and is told to stop like any other", async () => {
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
      deployments: { sources: memorySourceStore(), target }
    })
    const deploy = async (branchName: string) => {
      const { uploadUrl } = await gate.deployments.createSource({ accountName: "acme", projectName: "web", branchName })
      const { id } = await gate.deployments.upload(uploadUrl, new TextEncoder().encode(`source of ${branchName}`))
      return vi.waitFor(
        async () => {
          const status = await gate.deployments.status("acme", "web", id)
          assert.notStrictEqual(status.status, "IN_PROGRESS")
          return status
        },
        { timeout: 30_000 }
      )
    }
    const good = await deploy("good")
    assert.match(good.url, /^https:\/\/web-good-[a-z2-7]{12}\.example\.com\/$/)
    assert.include(good.buildResult.log, "building good")
    const bad = await deploy("bad")
    assert.deepInclude(bad.steps.build, { status: "failed", message: "it does not compile" })
    assert.isFalse(gate.matches("/sites/web-good/"), "a target that serves nothing has no paths")
    const { data } = await gate.deployments.list("acme", "web")
    await gate.deployments.remove(data[0]?.name ?? "")
    assert.deepStrictEqual(seen, [`${data[0]?.name} source of good`, `removed ${data[0]?.name}`])
    await gate.close()
  })
})

describe("what a target serves", () => {
  it("may have failed, and may not be stopped, when nobody asks for more than its head", async () => {
    const streams = [
      () => new ReadableStream({ start: (controller) => controller.error(new Error("failed")) }),
      () => new ReadableStream({ cancel: () => Promise.reject(new Error("not to be stopped")) })
    ]
    for (const stream of streams) {
      const gate = await createTollgate({
        store: MemoryStore.open(),
        secret,
        publicUrl: "http://gate",
        deployments: {
          sources: memorySourceStore(),
          target: { ...memoryTarget(), serve: () => Effect.succeed(new Response(stream())) }
        }
      })
      const branch = { accountName: "acme", projectName: "web", branchName: "main" }
      const { uploadUrl } = await gate.deployments.createSource(branch)
      await gate.deployments.upload(uploadUrl, new Uint8Array(10))
      const named = async () => (await gate.deployments.list("acme", "web")).data[0]?.url ?? ""
      await expect.poll(named).not.toBe("")
      await expect
        .poll(async () => (await gate.handler(new Request(await named(), { method: "HEAD" }))).status)
        .toBe(200)
      await gate.close()
    }
  })
})

describe("without a target", () => {
  it("deployments say what to configure, over HTTP and in the process", async () => {
    const tokens = [{ token: "a-token-of-this-test", account: "acme" }]
    const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens })
    const headers = { authorization: "Bearer a-token-of-this-test" }
    const body = JSON.stringify(branch)
    for (const [method, path] of [
      ["POST", "/v1/deployments/sources"],
      ["GET", "/v1/accounts/acme/projects/web/deployments"],
      ["GET", "/v1/accounts/acme/projects/web/deployment-status/x"],
      ["GET", "/v1/deployments/x"],
      ["DELETE", "/v1/deployments/x"],
      ["POST", "/v1/deployments/x/deploy"],
      ["PUT", "/v1/uploads/x.tar.gz"]
    ] as const) {
      const given = path.endsWith("/sources") || method === "PUT" ? { body } : {}
      const response = await gate.handler(new Request(`http://gate${path}`, { method, headers, ...given }))
      assert.strictEqual(response.status, 501, path)
    }
    assert.isFalse(gate.matches("/sites/x/"))
    assert.isTrue(gate.matches("/v1/deployments/x"))
    await gate.close()
  })

  it("wrong settings are refused, with what to set", async () => {
    const deployments = { sources: memorySourceStore(), target: memoryTarget() }
    const wrong: ReadonlyArray<readonly [object, RegExp]> = [
      [{ deployments }, /publicUrl/],
      [{ deployments, publicUrl: "example.com" }, /publicUrl/],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "ftp://b" }, /sitesUrl/],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://a.example/sites" }, /sitesUrl/],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://A.example.:8443" }, /sitesUrl: .*publicUrl/],
      [
        { deployments, publicUrl: "https://x.b.example", sitesUrl: "https://{name}.b.example" },
        /sitesUrl: .*publicUrl/
      ],
      [{ publicUrl: "https://a.example", sitesUrl: "https://a.example" }, /sitesUrl: .*publicUrl/],
      [
        { deployments, publicUrl: "https://a.example", sitesUrl: "https://x.{name}.example" },
        /sitesUrl: .*first label/
      ],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://x{name}.example" }, /sitesUrl: .*first label/],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://{name}.{name}.b" }, /sitesUrl: .*first label/],
      [
        { deployments, publicUrl: "https://a.example", sitesUrl: "https://b.example/{name}" },
        /sitesUrl: .*first label/
      ],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://{name}.b.example/x" }, /sitesUrl: .*no path/],
      [{ deployments, publicUrl: "https://a.example", sitesUrl: "https://{name}" }, /sitesUrl: .*first label/],
      [{ deployments: { ...deployments, sourceLimit: 0 }, publicUrl: "https://a.example" }, /sourceLimit/],
      [{ deployments: {}, publicUrl: "https://a.example" }, /sources and target/]
    ]
    for (const [options, told] of wrong) {
      const problem = await createTollgate({ store: MemoryStore.open(), secret, ...options }).then(
        () => "",
        (error: Error) => error.message
      )
      assert.match(problem, told)
    }
  })
})
