/**
 * A deployment name belongs to its branch permanently, also when the secret changes, and no other branch can get it.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName } from "@tollgate/core/effect"
import {
  BranchName,
  type Deployments,
  memorySourceStore,
  memoryTarget,
  ProjectName,
  type Uploads
} from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Change, type StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Effect } from "effect"
import {
  branch,
  content,
  createUploadUrl,
  eventually,
  getStatus,
  listDeployments,
  makeInterleaved,
  startProcess
} from "../../core/test/processes.ts"
import { secret } from "../../core/test/stores.ts"
import { deploymentDirectory, forProject } from "../src/model/partitions.ts"

const newer = "a newer secret that only these tests use"

interface Process {
  readonly uploads: Uploads["Service"]
  readonly deployments: Deployments["Service"]
}

const makeBranch = (accountName: string, projectName: string, branchName: string) => ({
  accountName: AccountName.make(accountName),
  projectName: ProjectName.make(projectName),
  branchName: BranchName.make(branchName)
})

/** Deploys a branch, and returns the name of the deployment. */
const deploy = ({ uploads, deployments }: Process, target = branch) =>
  Effect.gen(function* () {
    const { id } = yield* uploads.receive(yield* createUploadUrl(uploads, target), content)
    const { value } = yield* eventually(getStatus(deployments, id, target), ({ value }) => value.status === "SUCCESS")
    return value.url.split("/").at(-2) ?? ""
  })

const get = ({ deployments }: Process, deploymentName: string) => deployments.get({ params: { deploymentName } })

const remove = ({ deployments }: Process, deploymentName: string) => deployments.remove({ params: { deploymentName } })

const start = (store: StoreOperations, secrets: string | ReadonlyArray<string> = secret) =>
  startProcess(store, memoryTarget(), memorySourceStore(), { secret: secrets })

/** Writes a deployment whose name another branch would get. Hashes of branches do not collide by themselves. */
const writeDeployment = (store: StoreOperations, name: string) => {
  const { accountName, projectName, branchName } = branch
  const partition = forProject(accountName, projectName)
  const put = (collection: string, body: object, uniqueKeys: ReadonlyArray<string> = []) =>
    Change.Put({
      key: `${collection}/${name}`,
      expect: 0,
      body: `4 ${JSON.stringify({ ...branch, name, ...body })}`,
      indexTerms: [collection],
      uniqueKeys
    })
  const createdOn = "2026-01-01T00:00:00.000Z"
  const latest = "00000000-0000-4000-8000-000000000000"
  const deployment = { createdOn, updatedOn: createdOn, message: "", latest }
  const reservation = { state: "deployed", uploads: 0, bytes: 0 }
  return Effect.andThen(
    store.commit(deploymentDirectory, [put("name", reservation, [`name/branch:${partition}/${branchName}`])]),
    store.commit(partition, [put("deployment", deployment)])
  )
}

describe("a deployment name", () => {
  it.effect("is readable, valid in a host name, and ends in a keyed hash", () =>
    Effect.gen(function* () {
      const name = yield* deploy(yield* start(MemoryStore.open()))
      assert.match(name, /^web-main-[a-z2-7]{12}$/)
      assert.strictEqual(yield* deploy(yield* start(MemoryStore.open())), name)
      assert.notStrictEqual(yield* deploy(yield* start(MemoryStore.open(), newer)), name)
      const process = yield* start(MemoryStore.open())
      const long = yield* deploy(process, makeBranch("acme", "P".repeat(128), "b".repeat(255)))
      assert.match(long, /^p{50}-[a-z2-7]{12}$/)
      assert.strictEqual(long.length, 63)
      assert.notStrictEqual(yield* deploy(process, makeBranch("other", "web", "main")), name)
    }).pipe(Effect.scoped)
  )

  it.effect("stays the same when the secret is rotated", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const name = yield* deploy(yield* start(store))
      for (const secrets of [[newer, secret], newer]) {
        const process = yield* start(store, secrets)
        assert.strictEqual(yield* deploy(process), name)
        assert.strictEqual((yield* listDeployments(process.deployments)).total, 1)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is the same for two processes with different secrets and any interleaving of store calls", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const [one, other] = [yield* start(store, [secret, newer]), yield* start(store, [newer, secret])]
        const [first, second] = [yield* createUploadUrl(one.uploads), yield* createUploadUrl(other.uploads)]
        const { interleave, ended } = yield* makeInterleaved(Effect.orDie(other.uploads.receive(second, content)))
        injectAt(call, { interleave })
        yield* one.uploads.receive(first, content)
        isOver = calls() < call
        injectAt(0, "fail")
        yield* isOver ? interleave : ended
        const { total } = yield* listDeployments(one.deployments)
        assert.strictEqual(total, 1, `before call ${call}`)
        yield* one.stop
        yield* other.stop
      }
    }).pipe(Effect.scoped)
  )

  it.effect("stays reserved for its branch when the deployment is removed", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const process = yield* start(store)
      const name = yield* deploy(process)
      yield* remove(process, name)
      assert.strictEqual((yield* Effect.flip(get(process, name)))._tag, "DeploymentNotFound")
      assert.strictEqual(yield* deploy(yield* start(store, [newer, secret])), name)
    }).pipe(Effect.scoped)
  )

  it.effect("is skipped silently if it belongs to another account, also after that account removed it", () =>
    Effect.gen(function* () {
      const other = makeBranch("other", "web", "main")
      const reservedName = yield* deploy(yield* start(MemoryStore.open()), other)
      const store = MemoryStore.open()
      yield* writeDeployment(store, reservedName)
      const process = yield* start(store)
      const assignedName = yield* deploy(process, other)
      assert.match(assignedName, /^web-main-[a-z2-7]{12}$/)
      assert.notStrictEqual(assignedName, reservedName)
      assert.strictEqual((yield* get(process, reservedName)).value.accountName, branch.accountName)
      yield* remove(process, reservedName)
      yield* remove(process, assignedName)
      assert.strictEqual(yield* deploy(process, other), assignedName)
      assert.strictEqual((yield* Effect.flip(get(process, reservedName)))._tag, "DeploymentNotFound")
    }).pipe(Effect.scoped)
  )
})
