import { setImmediate } from "node:timers/promises"
import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { sites } from "@tollgate/sites"
import { secret } from "../../core/test/secrets.ts"
import { makePageArchive } from "../../sites/test/archives.ts"
import { makeRandom } from "./random.ts"
import { getSharedFiles } from "./rollbackSites.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface RollbackInput {
  readonly shared: SharedStore
  readonly folder: string
  readonly seed: number
}

/** Uploads versions, rolls back and promotes in turns, until it is killed. Reports what it uploads and does. */
process.once("message", async ({ shared, folder, seed }: RollbackInput) => {
  const store = await openSharedStore(shared)
  const gate = await createTollgate({
    store,
    secret,
    publicUrl: "http://127.0.0.1",
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    modules: [deployments(sites({ folder }))]
  })
  const web = gate.account("acme").project("p").deployments
  const random = makeRandom(seed)
  for (let round = 0; ; round++) {
    const number = seed * 1000 + round
    const archive = makePageArchive(`page ${number}`, ...getSharedFiles(number))
    const { uploadUrl } = await web.createSource({ branchName: "main" })
    const id = new URL(uploadUrl).pathname.split("/").at(-1)?.replace(".tar.gz", "")
    process.send?.({ id, number })
    await web.upload(uploadUrl, archive)
    process.send?.("uploaded")
    // Sometimes, the next step comes while the version runs.
    if (random.below(4) > 0) {
      while ((await web.status(id ?? "")).status === "IN_PROGRESS") await setImmediate()
    }
    const [{ name } = { name: "" }] = (await web.list()).data
    const kept = (await web.versions(name)).data.filter(({ isKept }) => isKept)
    const version = kept[random.below(Math.max(1, kept.length))]?.id
    process.send?.("serving")
    if (version !== undefined) {
      // Another process may have uploaded so much that the version is not kept any more.
      await web.rollback(name, { version }).catch(() => undefined)
      if (random.below(2) === 0) await web.promote(name).catch(() => undefined)
    }
    process.send?.("round")
  }
})
process.send?.("ready")
