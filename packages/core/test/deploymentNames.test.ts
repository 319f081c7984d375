/**
 * A deployment's name belongs to its branch for good, whatever the secret is, and nobody else can get it.
 */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  BranchName,
  type Deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type StoreOperations,
  type Uploads
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Effect } from "effect"
import { addressOf, branch, content, eventually, project, startProcess, writeEarlierDeployment } from "./processes.ts"
import { secret } from "./stores.ts"

const newer = "another secret of the tests, and of nobody else"

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const branchOf = (accountName: string, projectName: string, branchName: string) => ({
  accountName: AccountName.make(accountName),
  projectName: ProjectName.make(projectName),
  branchName: BranchName.make(branchName)
})

/** Deploys, and gives the name that the deployment has. */
const deploy = ({ uploads, deployments }: Process, of = branch) =>
  Effect.gen(function* () {
    const { uploadUrl } = yield* uploads.create(of)
    const { id } = yield* uploads.receive(addressOf(uploadUrl), content)
    const { value } = yield* eventually(deployments.status(of, id), ({ value }) => value.status === "SUCCESS")
    return value.url.split("/").at(-2) ?? ""
  })

const start = (store: StoreOperations, secrets: string | ReadonlyArray<string> = secret) =>
  startProcess(store, memoryTarget(), memorySourceStore(), { secret: secrets })

const earlierName = ({ accountName, projectName, branchName }: typeof branch) =>
  `web-main-${createHash("sha256")
    .update(JSON.stringify([accountName, projectName, branchName]))
    .digest("hex")
    .slice(0, 7)}`

describe("a deployment's name", () => {
  it.effect("is readable, fit for a host name, and ends in a hash under the secret", () =>
    Effect.gen(function* () {
      const name = yield* deploy(yield* start(MemoryStore.open()))
      assert.match(name, /^web-main-[a-z2-7]{12}$/)
      assert.strictEqual(yield* deploy(yield* start(MemoryStore.open())), name)
      assert.notStrictEqual(yield* deploy(yield* start(MemoryStore.open(), newer)), name)
      const process = yield* start(MemoryStore.open())
      const long = yield* deploy(process, branchOf("acme", "P".repeat(128), "b".repeat(255)))
      assert.match(long, /^p{50}-[a-z2-7]{12}$/)
      assert.strictEqual(long.length, 63)
      assert.notStrictEqual(yield* deploy(process, branchOf("other", "web", "main")), name)
    }).pipe(Effect.scoped)
  )

  it.effect("stays when the secret is replaced", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const name = yield* deploy(yield* start(store))
      for (const secrets of [[newer, secret], newer]) {
        const process = yield* start(store, secrets)
        assert.strictEqual(yield* deploy(process), name)
        assert.strictEqual((yield* process.deployments.list(project, { limit: 10, offset: 0 })).total, 1)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is the same for two processes with different secrets, whose calls of the store mix in any way", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const [one, other] = [yield* start(store, [secret, newer]), yield* start(store, [newer, secret])]
        const [first, second] = [yield* one.uploads.create(branch), yield* other.uploads.create(branch)]
        const interleave = Effect.orDie(other.uploads.receive(addressOf(second.uploadUrl), content))
        injectAt(call, { interleave })
        yield* one.uploads.receive(addressOf(first.uploadUrl), content)
        isOver = calls() < call
        injectAt(0, "fail")
        if (isOver) yield* interleave
        const { total } = yield* one.deployments.list(project, { limit: 10, offset: 0 })
        assert.strictEqual(total, 1, `before call ${call}`)
        yield* one.stop
        yield* other.stop
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is kept for its branch when the deployment is removed", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const process = yield* start(store)
      const name = yield* deploy(process)
      yield* process.deployments.remove(name)
      assert.strictEqual((yield* Effect.flip(process.deployments.get(name)))._tag, "DeploymentNotFound")
      assert.strictEqual(yield* deploy(yield* start(store, [newer, secret])), name)
    }).pipe(Effect.scoped)
  )

  it.effect("that belongs to another account is passed over without a word, also when that has removed it", () =>
    Effect.gen(function* () {
      const evil = branchOf("evil", "web", "main")
      const wanted = yield* deploy(yield* start(MemoryStore.open()), evil)
      const store = MemoryStore.open()
      yield* writeEarlierDeployment(store, branch, wanted)
      const process = yield* start(store)
      const given = yield* deploy(process, evil)
      assert.match(given, /^web-main-[a-z2-7]{12}$/)
      assert.notStrictEqual(given, wanted)
      assert.strictEqual((yield* process.deployments.get(wanted)).value.accountName, branch.accountName)
      yield* process.deployments.remove(wanted)
      yield* process.deployments.remove(given)
      assert.strictEqual(yield* deploy(process, evil), given)
      assert.strictEqual((yield* Effect.flip(process.deployments.get(wanted)))._tag, "DeploymentNotFound")
    }).pipe(Effect.scoped)
  )

  it.effect("of an earlier version stays, with its address, also when it is removed and comes again", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const name = earlierName(branch)
      yield* writeEarlierDeployment(store, branch, name)
      const process = yield* start(store)
      assert.strictEqual((yield* process.deployments.get(name)).value.url, `http://gate/sites/${name}/`)
      assert.strictEqual(yield* deploy(process), name)
      assert.strictEqual((yield* process.deployments.list(project, { limit: 10, offset: 0 })).total, 1)
      yield* process.deployments.remove(name)
      assert.strictEqual(yield* deploy(process), name)
    }).pipe(Effect.scoped)
  )

  it.effect("of an earlier version that was removed before any upload is still its branch's", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const name = earlierName(branch)
      yield* writeEarlierDeployment(store, branch, name)
      const process = yield* start(store)
      yield* process.deployments.remove(name)
      assert.strictEqual(yield* deploy(process), name)
    }).pipe(Effect.scoped)
  )
})
