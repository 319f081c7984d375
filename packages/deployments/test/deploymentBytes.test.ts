/**
 * The bytes of sources and releases that an account holds, measured where they are stored.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName } from "@tollgate/core/effect"
import {
  BranchName,
  type Deployments,
  type DeploymentTarget,
  memorySourceStore,
  ProjectName,
  type SourceStore,
  type Uploads
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Store } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Effect, Exit, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  createUploadUrl,
  eventually,
  flushEventLoop,
  getStatus,
  listDeployments,
  startProcess
} from "../../core/test/processes.ts"
import { stores } from "../../core/test/stores.ts"

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const makeBranch = (branchName: string, accountName = "acme", projectName = "web") => ({
  accountName: AccountName.make(accountName),
  projectName: ProjectName.make(projectName),
  branchName: BranchName.make(branchName)
})

/** A source store that knows how many bytes it holds. */
const makeMeasuredSources = () => {
  const sizes = new Map<string, number>()
  const inner = memorySourceStore()
  const sources: SourceStore = {
    ...inner,
    put: (key, content) =>
      inner.put(
        key,
        Stream.map(content, (chunk) => {
          sizes.set(key, (sizes.get(key) ?? 0) + chunk.byteLength)
          return chunk
        })
      ),
    remove: (key) => Effect.map(inner.remove(key), () => void sizes.delete(key))
  }
  return { sources, measure: () => [...sizes.values()].reduce((sum, size) => sum + size, 0) }
}

/** A target whose releases have ten times the size of their source. */
const makeMeasuredTarget = () => {
  const sizes = new Map<string, number>()
  const target: DeploymentTarget = {
    unpack: ({ id, sourceBytes }) =>
      Effect.sync(() => {
        sizes.set(id, 10 * sourceBytes)
        return { files: 1, bytes: 1, diskBytes: 10 * sourceBytes }
      }),
    publish: () => Effect.void,
    discard: (id) => Effect.sync(() => sizes.delete(id))
  }
  return { target, measure: () => [...sizes.values()].reduce((sum, size) => sum + size, 0) }
}

const kilobyte = Stream.make(new Uint8Array(500), new Uint8Array(500))

const send = ({ uploads }: Process, ...branch: Parameters<typeof makeBranch>) =>
  Effect.flatMap(createUploadUrl(uploads, makeBranch(...branch)), (url) => uploads.receive(url, kilobyte))

/** Uploads a source, and waits for the end of its run. */
const deploy = (process: Process, branchName: string) =>
  Effect.flatMap(send(process, branchName), ({ id }) =>
    eventually(getStatus(process.deployments, id), ({ value }) => value.status !== "IN_PROGRESS")
  )

const removeAll = ({ deployments }: Process) =>
  Effect.gen(function* () {
    const { data } = yield* listDeployments(deployments)
    yield* Effect.forEach(data, ({ name }) => deployments.remove({ params: { deploymentName: name } }))
  })

describe.each(stores)("the bytes of an account's deployments, on %s", (_, layer) => {
  it.effect("have a maximum, which holds when two processes receive uploads at once", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const { sources, measure } = makeMeasuredSources()
      const { target } = makeMeasuredTarget()
      const options = { limits: { deploymentBytesPerAccount: 5_500 } }
      // Without releases.
      const { unpack: _, ...publishOnly } = target
      const processes = [
        yield* startProcess(store, publishOnly, sources, options),
        yield* startProcess(store, publishOnly, sources, options)
      ]
      const exits = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        // Different projects, whose records do not conflict.
        (index) => Effect.exit(send(processes[index % 2] ?? assert.fail(), "main", "acme", `p${index}`)),
        { concurrency: 20 }
      )
      const refused = exits.filter(Exit.isFailure)
      assert.strictEqual(refused.length, 15)
      assert.isTrue(refused.every((exit) => JSON.stringify(exit).includes('"deploymentBytesPerAccount"')))
      assert.strictEqual(measure(), 5_000)
      // Others are not affected.
      yield* send(processes[0] ?? assert.fail(), "main", "other")
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})

describe("the bytes of an account's deployments", () => {
  it.effect("include releases: a run beyond the maximum fails and leaves nothing", () =>
    Effect.gen(function* () {
      const [sources, target] = [makeMeasuredSources(), makeMeasuredTarget()]
      const process = yield* startProcess(MemoryStore.open(), target.target, sources.sources, {
        limits: { deploymentBytesPerAccount: 25_000 }
      })
      for (const branch of ["one", "two"]) {
        assert.strictEqual((yield* deploy(process, branch)).value.status, "SUCCESS")
      }
      const { value } = yield* deploy(process, "three")
      assert.strictEqual(value.status, "ERROR")
      assert.strictEqual(
        value.steps.unpack.message,
        "An account may have at most 25,000 bytes of sources and releases. Remove a deployment first or raise " +
          "limits.deploymentBytesPerAccount."
      )
      yield* flushEventLoop
      assert.strictEqual(sources.measure() + target.measure(), 3 * 1_000 + 2 * 10_000)
    }).pipe(Effect.scoped)
  )

  it.effect("are given back by removals and by later versions", () =>
    Effect.gen(function* () {
      const [sources, target] = [makeMeasuredSources(), makeMeasuredTarget()]
      const process = yield* startProcess(MemoryStore.open(), target.target, sources.sources, {
        limits: { deploymentBytesPerAccount: 23_500 }
      })
      // While a version is deployed, the one before it is served.
      for (let version = 1; version <= 5; version++) {
        assert.strictEqual((yield* deploy(process, "main")).value.status, "SUCCESS", `version ${version}`)
      }
      yield* deploy(process, "other")
      assert.strictEqual((yield* deploy(process, "third")).value.status, "ERROR")
      yield* removeAll(process)
      assert.strictEqual(sources.measure() + target.measure(), 0)
      yield* deploy(process, "main")
      assert.strictEqual((yield* deploy(process, "other")).value.status, "SUCCESS")
    }).pipe(Effect.scoped)
  )

  const cases = (["fail", "lose-reply"] as const).flatMap((fault) =>
    [1, 2, 3, 4].map((first) => [fault, first] as const)
  )
  it.effect.each(cases)(
    "are counted again if a process could not do so (fault: %s, at every fourth store call from %i)",
    ([fault, first]) =>
      Effect.gen(function* () {
        for (let call = first, isOver = false; !isOver; call += 4) {
          const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
          const [sources, target] = [makeMeasuredSources(), makeMeasuredTarget()]
          const limits = { deploymentBytesPerAccount: 23_500 }
          const process = yield* startProcess(store, target.target, sources.sources, { limits })
          injectAt(call, fault)
          yield* Effect.ignore(deploy(process, "main"))
          yield* Effect.ignore(removeAll(process))
          isOver = calls() < call
          injectAt(0, "fail")
          // A removal that was interrupted is finished within seconds, and a recount is possible every minute.
          for (let second = 0; second < 10; second++) {
            yield* TestClock.adjust("1 second")
            yield* flushEventLoop
          }
          yield* removeAll(process)
          yield* TestClock.adjust("1 minute")
          for (const branch of ["one", "two"]) {
            assert.strictEqual((yield* deploy(process, branch)).value.status, "SUCCESS", `${branch}, call ${call}`)
          }
          yield* process.stop
        }
      }).pipe(Effect.scoped)
  )
})

/** A target whose releases share one file of 100 bytes, and have another of 10 bytes each. */
const makeSharingTarget = () => {
  const releases = new Set<string>()
  const target: DeploymentTarget = {
    unpack: () => Effect.succeed({ files: 2, bytes: 110 }),
    publish: ({ id }) => Effect.sync(() => void releases.add(id)),
    discard: (id) => Effect.sync(() => void releases.delete(id)),
    measure: (ids) =>
      Effect.sync(() => {
        const [first] = ids.filter((id) => releases.has(id))
        return ids.map((id) => (releases.has(id) ? (id === first ? 110 : 10) : 0))
      }),
    serve: () => Effect.succeed(undefined)
  }
  return { target, measure: () => (releases.size === 0 ? 0 : 100 + 10 * releases.size) }
}

describe("the bytes of a deployment whose releases share files", () => {
  const readUsed = ({ uploads }: Process) => Effect.map(uploads.readBytes(AccountName.make("acme")), ({ used }) => used)
  const getName = ({ deployments }: Process) =>
    Effect.map(listDeployments(deployments), ({ data: [deployment] }) => deployment?.name ?? assert.fail())
  /** Waits until the latest source and what is on the disk are counted, and nothing else. */
  const waitForCount = (process: Process, measure: () => number) =>
    eventually(readUsed(process), (used) => used === 1_000 + measure())

  it.effect("count each once, also if an older version than those that are kept is served", () =>
    Effect.gen(function* () {
      const { target, measure } = makeSharingTarget()
      const process = yield* startProcess(MemoryStore.open(), target)
      const deployOne = Effect.map(deploy(process, "main"), ({ value }) => assert.strictEqual(value.status, "SUCCESS"))
      yield* deployOne
      const deploymentName = yield* getName(process)
      const list = process.deployments.versions({ params: { deploymentName }, query: { limit: 100, offset: 0 } })
      const [oldest = assert.fail()] = (yield* list).data
      yield* deployOne
      yield* process.deployments.rollback({ params: { deploymentName }, payload: { version: oldest.id } })
      // The oldest stays, because it is served. Of the others, ten are kept.
      for (let version = 0; version < 14; version++) {
        yield* deployOne
        yield* waitForCount(process, measure)
      }
      assert.strictEqual(measure(), 100 + 10 * 11)
      yield* process.deployments.promote({ params: { deploymentName }, payload: {} })
      yield* waitForCount(process, measure)
      assert.strictEqual(measure(), 100 + 10 * 10)
    }).pipe(Effect.scoped)
  )

  it.effect("count each once, also if an earlier release of a version is served", () =>
    Effect.gen(function* () {
      const { target, measure } = makeSharingTarget()
      const process = yield* startProcess(MemoryStore.open(), target)
      yield* deploy(process, "main")
      const { value } = yield* deploy(process, "main")
      assert.strictEqual(value.status, "SUCCESS")
      const params = { deploymentName: yield* getName(process) }
      const list = process.deployments.versions({ params, query: { limit: 100, offset: 0 } })
      const [second = assert.fail(), first = assert.fail()] = (yield* list).data
      for (const { id } of [first, second]) yield* process.deployments.rollback({ params, payload: { version: id } })
      yield* process.deployments.deploy({ params })
      yield* eventually(getStatus(process.deployments, second.id), ({ value }) => value.status !== "IN_PROGRESS")
      assert.strictEqual(measure(), 100 + 10 * 3)
      yield* waitForCount(process, measure)
      yield* process.deployments.promote({ params, payload: {} })
      yield* eventually(Effect.sync(measure), (bytes) => bytes === 100 + 10 * 2)
      yield* waitForCount(process, measure)
    }).pipe(Effect.scoped)
  )
})
