/**
 * Slow uploads and concurrent uploads.
 */
import { assert, describe, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import {
  BranchName,
  deployments,
  memorySourceStore,
  memoryTarget,
  type SignedUploadUrl,
  type SourceStore,
  type Uploads
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { StoreState } from "@tollgate/store-testkit"
import { Deferred, Effect, Fiber, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import {
  branch,
  content,
  createUploadUrl,
  flushEventLoop,
  startDisconnectableProcess,
  startProcess
} from "../../core/test/processes.ts"
import { secret } from "../../core/test/stores.ts"

const advance = (seconds: number) =>
  Effect.gen(function* () {
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* flushEventLoop
    }
  })

/** An endless stream of `bytes` bytes every `seconds` seconds. */
const trickle = (bytes: number, seconds: number) =>
  Stream.fromEffectSchedule(
    Effect.sync(() => new Uint8Array(bytes)),
    Schedule.spaced({ seconds })
  )

describe("an upload", () => {
  it.effect("does not time out while the source store finishes slowly", () =>
    Effect.gen(function* () {
      const inner = memorySourceStore()
      const slow: SourceStore = {
        ...inner,
        put: (key, stream) => Effect.andThen(inner.put(key, stream), Effect.sleep("40 seconds"))
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), slow)
      const url = yield* createUploadUrl(uploads)
      const sending = yield* Effect.forkChild(uploads.receive(url, content))
      yield* advance(45)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("does not time out while the source store accepts chunks slowly", () =>
    Effect.gen(function* () {
      const inner = memorySourceStore()
      const slow: SourceStore = {
        ...inner,
        put: (key, stream) =>
          inner.put(
            key,
            Stream.tap(stream, () => Effect.sleep("40 seconds"))
          )
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), slow)
      const url = yield* createUploadUrl(uploads)
      const chunks = Stream.fromIterable([new Uint8Array(5), new Uint8Array(5)], { chunkSize: 1 })
      const sending = yield* Effect.forkChild(uploads.receive(url, chunks))
      yield* advance(85)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 10)
    }).pipe(Effect.scoped)
  )

  it.effect("succeeds when the store replies late to the commit that ends its lease", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let delayedCommits = 0
      const slow: typeof store = {
        ...store,
        commit: (partition, changes, idempotency) => {
          const endsLease = changes.some((change) => change._tag === "Delete" && change.key.startsWith("upload-lease/"))
          const committed = store.commit(partition, changes, idempotency)
          if (!endsLease) return committed
          delayedCommits++
          return Effect.tap(committed, () => Effect.sleep("25 seconds"))
        }
      }
      const { uploads } = yield* startProcess(slow, memoryTarget())
      const url = yield* createUploadUrl(uploads)
      const sending = yield* Effect.forkChild(uploads.receive(url, content))
      yield* advance(60)
      assert.isAbove(delayedCommits, 0)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("fails after the grace period if it is too slow", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget())
      const url = yield* createUploadUrl(uploads)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(url, trickle(1, 20))))
      yield* flushEventLoop
      yield* advance(59)
      assert.isUndefined(sending.pollUnsafe())
      yield* advance(10)
      assert.match((yield* Fiber.join(sending)).message, /less than 1024 bytes per second/)
      assert.strictEqual((yield* uploads.receive(url, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("fails after an hour", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), memorySourceStore(), {
        sourceLimit: 100_000_000
      })
      const url = yield* createUploadUrl(uploads)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(url, trickle(20_000, 10))))
      yield* flushEventLoop
      for (let minute = 0; minute < 59; minute++) yield* TestClock.adjust("1 minute")
      yield* flushEventLoop
      assert.isUndefined(sending.pollUnsafe())
      yield* advance(80)
      assert.match((yield* Fiber.join(sending)).message, /longer than 60 minutes/)
    }).pipe(Effect.scoped)
  )
})

/** Starts an upload that continues until its fiber is interrupted. */
const startEndlessUpload = (uploads: Uploads["Service"], url: SignedUploadUrl) =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const first = Stream.fromEffect(Effect.as(Deferred.succeed(started, undefined), new Uint8Array(100_000)))
    const steady = Stream.concat(first, trickle(100_000, 10))
    const fiber = yield* Effect.forkChild(uploads.receive(url, steady))
    yield* Deferred.await(started)
    return fiber
  })

describe("an upload URL", () => {
  const options = { sourceLimit: 100_000_000 }

  it.effect("accepts one upload at a time across processes, and another after an interrupted one", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const one = yield* startProcess(store, memoryTarget(), sources, options)
      const other = yield* startProcess(store, memoryTarget(), sources, options)
      const url = yield* createUploadUrl(one.uploads)
      for (const [interrupted, next] of [
        [one, one],
        [one, other]
      ] as const) {
        const sending = yield* startEndlessUpload(interrupted.uploads, url)
        for (const { uploads } of [one, other]) {
          assert.strictEqual((yield* Effect.flip(uploads.receive(url, content)))._tag, "UploadInProgress")
        }
        yield* advance(90)
        assert.strictEqual((yield* Effect.flip(other.uploads.receive(url, content)))._tag, "UploadInProgress")
        yield* Fiber.interrupt(sending)
        if (next === other) assert.strictEqual((yield* next.uploads.receive(url, content)).bytes, 8)
      }
      assert.strictEqual((yield* Effect.flip(one.uploads.receive(url, content)))._tag, "AlreadyUploaded")
    }).pipe(Effect.scoped)
  )

  it.effect("is usable again 15 seconds after the receiving process died", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const dying = yield* startDisconnectableProcess(store, memoryTarget(), sources)
      const other = yield* startProcess(store, memoryTarget(), sources, options)
      const url = yield* createUploadUrl(other.uploads)
      yield* startEndlessUpload(dying.uploads, url)
      dying.disconnect()
      yield* advance(9)
      assert.strictEqual((yield* Effect.flip(other.uploads.receive(url, content)))._tag, "UploadInProgress")
      yield* advance(6)
      assert.strictEqual((yield* other.uploads.receive(url, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("leaves no name, count or lease in the store when its first upload fails", () =>
    Effect.gen(function* () {
      const { store, state } = StoreState.watch(MemoryStore.open())
      const { uploads } = yield* startProcess(store, memoryTarget())
      // The first upload of an account lists the account, which stays listed.
      const otherBranch = { ...branch, branchName: BranchName.make("other") }
      yield* Effect.flip(uploads.receive(yield* createUploadUrl(uploads, otherBranch), Stream.empty))
      const url = yield* createUploadUrl(uploads)
      const before = yield* state.hash
      assert.strictEqual((yield* Effect.flip(uploads.receive(url, Stream.empty)))._tag, "InvalidInput")
      assert.strictEqual(yield* state.hash, before)
    }).pipe(Effect.scoped)
  )

  it("responds with 409 while an upload is in progress", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      publicUrl: "http://gate",
      modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
    })
    const { uploadUrl } = await gate.account("acme").project("web").deployments.createSource({ branchName: "main" })
    const disconnect = new AbortController()
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(5)) })
    const init = { method: "PUT", body, duplex: "half", signal: disconnect.signal } as RequestInit
    const sending = gate.handler(new Request(uploadUrl, init))
    const put = () => gate.handler(new Request(uploadUrl, { method: "PUT", body: "a source" }))
    const conflict = await vi.waitFor(
      async () => {
        const response = await put()
        assert.strictEqual(response.status, 409)
        return response
      },
      { timeout: 60_000 }
    )
    assert.include(await conflict.text(), "urn:tollgate:problem:upload-in-progress")
    disconnect.abort()
    await sending
    assert.strictEqual((await put()).status, 200)
    await gate.close()
  })
})
