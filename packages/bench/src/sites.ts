/**
 * The first byte of a deployed file: of a release whose files are hard links to those of earlier releases, compared with a
 * release that has all its files for itself; and by the address of a version, compared with the name of the deployment.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const files = 200
const concurrency = 16

/** A source of 200 files of 3 kB, of which the first changes with each version. */
const makeSource = (folder: string, version: number): Buffer => {
  const source = join(folder, `source-${version}`)
  mkdirSync(source)
  for (let file = 0; file < files; file++) {
    writeFileSync(join(source, `${file}.html`), `${file} ${file === 0 ? version : ""}`.padEnd(3_000, "x"))
  }
  return execFileSync("tar", ["czf", "-", "-C", source, "."], { maxBuffer: 1024 ** 3 })
}

export const sitesOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await SqliteStore.open(join(folder, "sites.db"))
  const gate = await createTollgate({
    store,
    secret: "a-secret-of-the-benchmarks-with-32-characters",
    publicUrl: "http://localhost",
    modules: [deployments(sites({ folder: join(folder, "sites") }))]
  })
  const web = gate.account("bench").project("web").deployments
  const deploy = async (branchName: string, archive: Buffer) => {
    const { uploadUrl } = await web.createSource({ branchName })
    const { id } = await web.upload(uploadUrl, archive)
    while ((await web.status(id)).status === "IN_PROGRESS") await setTimeout(20)
    const { url, status } = await web.status(id)
    if (status !== "SUCCESS") throw new Error(`The deployment ended with ${status}`)
    return url
  }
  const sources = Array.from({ length: 10 }, (_, version) => makeSource(folder, version))
  for (const source of sources) await deploy("linked", source)
  const linked = await deploy("linked", sources[0] ?? Buffer.alloc(0))
  const plain = await deploy("plain", sources[0] ?? Buffer.alloc(0))
  const name = new URL(linked).pathname.split("/")[2] ?? ""
  const address = (await web.versions(name)).data[0]?.url ?? ""
  /** Requests a file, and reads the first part of it. */
  const readFrom = (url: string) =>
    runConcurrently(concurrency, async (index) => {
      const { status, body } = await gate.handler(new Request(`${url}${index % files}.html`))
      const reader = body?.getReader()
      const { value } = (await reader?.read()) ?? {}
      if (status !== 200 || value === undefined) throw new Error(`${url} responded with ${status}`)
      await reader?.cancel()
    })
  const links = await compare(readFrom(linked), readFrom(plain), effort)
  const addresses = await compare(readFrom(address), readFrom(linked), effort)
  await gate.close()
  await store.close()
  return [
    { name: "first byte of a file that ten versions share", comparedWith: "of a file of the only version", ...links },
    { name: "first byte by the address of a version", comparedWith: "by the name of the deployment", ...addresses }
  ]
}
