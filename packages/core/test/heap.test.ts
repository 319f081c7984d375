/**
 * A process keeps hashes of tokens and keys derived from the secret in memory, but no tokens, secrets or key values.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { getNodeOptions } from "@tollgate/testing"
import { expect, it } from "vitest"

const program = `
import { randomBytes } from "node:crypto"
import { writeHeapSnapshot } from "node:v8"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"

// Generated at run time, so that the source text in the heap does not contain them.
const random = (name) => name + "-" + randomBytes(24).toString("hex")
const start = async () => {
  const [token, secret] = [random("token"), random("secret")]
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: [{ token, account: "acme" }] })
  const keyBucket = gate.account("acme").keyBucket("b")
  const consumer = await keyBucket.consumers.create({ name: "alice" }, { withApiKey: true })
  const key = consumer.apiKeys[0].key
  const { valid } = await keyBucket.verify(key)
  const { status } = await gate.handler(new Request("http://gate/v1/metering", { headers: { authorization: "Bearer " + token } }))
  // Reversed, because the printed output is in the heap too.
  const reversed = [token, secret, key].map((text) => [...text].reverse().join(""))
  process.stdout.write(JSON.stringify({ reversed, valid, status }))
  return gate
}
const gate = await start()
await new Promise(setImmediate)
globalThis.gc()
writeHeapSnapshot(process.argv[2])
await gate.close()
`

it("keeps no tokens, secrets or key values in the heap", async () => {
  const folder = mkdtempSync(join(import.meta.dirname, ".heap-"))
  const snapshot = join(mkdtempSync(join(tmpdir(), "tollgate-heap-")), "heap.heapsnapshot")
  try {
    const path = join(folder, "program.ts")
    writeFileSync(path, program)
    const { stdout } = await promisify(execFile)(process.execPath, [...getNodeOptions(), "--expose-gc", path, snapshot])
    const { reversed, ...outcome } = JSON.parse(stdout)
    expect(outcome).toEqual({ valid: true, status: 200 })
    const heap = readFileSync(snapshot, "latin1")
    expect(heap).toContain("acme")
    const leaked = reversed.filter((text: string) => heap.includes([...text].reverse().join("")))
    expect(leaked).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
    rmSync(join(snapshot, ".."), { recursive: true, force: true })
  }
})
