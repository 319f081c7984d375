/**
 * Uploads that are slow, or meet each other.
 */
import { assert, describe, it } from "@effect/vitest"
import { createTollgate, memorySourceStore, memoryTarget, type SourceStore, type Uploads } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { StoreState } from "@tollgate/store-testkit"
import { Deferred, Effect, Fiber, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { addressOf, branch, content, mortal, settled, startProcess } from "./processes.ts"
import { secret } from "./stores.ts"

const pass = (seconds: number) =>
  Effect.gen(function* () {
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* settled
    }
  })

/** So many bytes, every so many seconds, for ever. */
const trickle = (bytes: number, seconds: number) =>
  Stream.fromEffectSchedule(
    Effect.sync(() => new Uint8Array(bytes)),
    Schedule.spaced({ seconds })
  )

describe("an upload", () => {
  it.effect("that has arrived may take its store as long as it needs", () =>
    Effect.gen(function* () {
      const inner = memorySourceStore()
      const slow: SourceStore = {
        ...inner,
        put: (key, stream) => Effect.andThen(inner.put(key, stream), Effect.sleep("40 seconds"))
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), slow)
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(uploads.receive(address, content))
      yield* pass(45)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("is not given up while its store is slow to take the next piece", () =>
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
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const pieces = Stream.fromIterable([new Uint8Array(5), new Uint8Array(5)], { chunkSize: 1 })
      const sending = yield* Effect.forkChild(uploads.receive(address, pieces))
      yield* pass(85)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 10)
    }).pipe(Effect.scoped)
  )

  it.effect("that is stored is not taken for another's because the store answers late", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let late = 0
      const slow: typeof store = {
        ...store,
        commit: (partition, changes, once) => {
          const endsLease = changes.some(({ _tag }) => _tag === "Delete")
          const committed = store.commit(partition, changes, once)
          if (!endsLease) return committed
          late++
          return Effect.tap(committed, () => Effect.sleep("25 seconds"))
        }
      }
      const { uploads } = yield* startProcess(slow, memoryTarget())
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(uploads.receive(address, content))
      yield* pass(60)
      assert.isAbove(late, 0)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("that trickles is given up after its grace period", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget())
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(address, trickle(1, 20))))
      yield* settled
      yield* pass(59)
      assert.isUndefined(sending.pollUnsafe())
      yield* pass(10)
      assert.match((yield* Fiber.join(sending)).message, /less than 1024 bytes per second/)
      assert.strictEqual((yield* uploads.receive(address, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("ends after an hour, however steadily it comes", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), memorySourceStore(), {
        sourceLimit: 100_000_000
      })
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(address, trickle(20_000, 10))))
      yield* settled
      for (let minute = 0; minute < 59; minute++) yield* TestClock.adjust("1 minute")
      yield* settled
      assert.isUndefined(sending.pollUnsafe())
      yield* pass(80)
      assert.match((yield* Fiber.join(sending)).message, /longer than 60 minutes/)
    }).pipe(Effect.scoped)
  )
})

/** An upload that has begun, and goes on until the fiber is interrupted. */
const hang = (uploads: Uploads["Service"], address: ReturnType<typeof addressOf>) =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const first = Stream.fromEffect(Effect.as(Deferred.succeed(begun, undefined), new Uint8Array(100_000)))
    const steady = Stream.concat(first, trickle(100_000, 10))
    const fiber = yield* Effect.forkChild(uploads.receive(address, steady))
    yield* Deferred.await(begun)
    return fiber
  })

describe("an upload's address", () => {
  const open = { sourceLimit: 100_000_000 }

  it.effect("takes one upload at a time, in all processes, and is good again when that is broken off", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const one = yield* startProcess(store, memoryTarget(), sources, open)
      const other = yield* startProcess(store, memoryTarget(), sources, open)
      const address = addressOf((yield* one.uploads.create(branch)).uploadUrl)
      for (const [begin, end] of [
        [one, one],
        [one, other]
      ] as const) {
        const sending = yield* hang(begin.uploads, address)
        for (const { uploads } of [one, other]) {
          assert.strictEqual((yield* Effect.flip(uploads.receive(address, content)))._tag, "UploadInProgress")
        }
        yield* pass(90)
        assert.strictEqual((yield* Effect.flip(other.uploads.receive(address, content)))._tag, "UploadInProgress")
        yield* Fiber.interrupt(sending)
        if (end === other) assert.strictEqual((yield* end.uploads.receive(address, content)).bytes, 8)
      }
      assert.strictEqual((yield* Effect.flip(one.uploads.receive(address, content)))._tag, "AlreadyUploaded")
    }).pipe(Effect.scoped)
  )

  it.effect("is good again 30 seconds after the process died that received an upload", () =>
    Effect.gen(function* () {
      const [store, sources] = [MemoryStore.open(), memorySourceStore()]
      const dying = yield* mortal(store, memoryTarget(), sources)
      const other = yield* startProcess(store, memoryTarget(), sources, open)
      const address = addressOf((yield* other.uploads.create(branch)).uploadUrl)
      yield* hang(dying.uploads, address)
      dying.die()
      yield* pass(29)
      assert.strictEqual((yield* Effect.flip(other.uploads.receive(address, content)))._tag, "UploadInProgress")
      yield* pass(2)
      assert.strictEqual((yield* other.uploads.receive(address, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("leaves nothing in the store when its first upload fails: no name, no count, no lease", () =>
    Effect.gen(function* () {
      const { store, state } = StoreState.watch(MemoryStore.open())
      const { uploads } = yield* startProcess(store, memoryTarget())
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const before = yield* state.hash
      assert.strictEqual((yield* Effect.flip(uploads.receive(address, Stream.empty)))._tag, "UploadInterrupted")
      assert.strictEqual(yield* state.hash, before)
    }).pipe(Effect.scoped)
  )

  it("answers 409 over HTTP while an upload is in progress", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      publicUrl: "http://gate",
      deployments: { sources: memorySourceStore(), target: memoryTarget() }
    })
    const { uploadUrl } = await gate.deployments.createSource({ ...branch })
    const leaving = new AbortController()
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(5)) })
    const init = { method: "PUT", body, duplex: "half", signal: leaving.signal } as RequestInit
    const sending = gate.handler(new Request(uploadUrl, init))
    const put = () => gate.handler(new Request(uploadUrl, { method: "PUT", body: "a source" }))
    const refused = await vi.waitFor(
      async () => {
        const answer = await put()
        assert.strictEqual(answer.status, 409)
        return answer
      },
      { timeout: 30_000 }
    )
    assert.include(await refused.text(), "urn:tollgate:problem:upload-in-progress")
    leaving.abort()
    await sending
    assert.strictEqual((await put()).status, 200)
    await gate.close()
  })
})
