import { assert, describe, it } from "@effect/vitest"
import { createTollgate, memorySourceStore, memoryTarget } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Effect } from "effect"
import { writeEarlierDeployment } from "./processes.ts"
import { secret, tokens } from "./stores.ts"

const invisible = {
  "right-to-left override": "\u202E",
  "left-to-right isolate": "\u2066",
  "pop directional isolate": "\u2069",
  "left-to-right mark": "\u200E",
  "right-to-left mark": "\u200F",
  "zero-width space": "\u200B",
  "zero-width joiner": "\u200D",
  "byte order mark": "\uFEFF",
  "soft hyphen": "\u00AD",
  "line separator": "\u2028",
  "Hangul filler": "\u3164"
}

const open = (store = MemoryStore.open()) =>
  createTollgate({
    store,
    secret,
    tokens: [{ token: tokens.writer, account: "acme" }],
    publicUrl: "http://gate",
    deployments: { sources: memorySourceStore(), target: memoryTarget() }
  })

describe("a branch's name", () => {
  it.each(Object.entries(invisible))("has no %s in it", async (_, character) => {
    const gate = await open()
    const branch = { accountName: "acme", projectName: "web", branchName: `ma${character}in` }
    const answer = await gate.handler(
      new Request("http://gate/v1/deployments/sources", {
        method: "POST",
        headers: { authorization: `Bearer ${tokens.writer}` },
        body: JSON.stringify(branch)
      })
    )
    assert.strictEqual(answer.status, 400)
    assert.include(await answer.text(), '"pointer":"/branchName"')
    const failed = await gate.deployments.createSource(branch).then(
      () => undefined,
      (error: { readonly _tag: string }) => error._tag
    )
    assert.strictEqual(failed, "InvalidInput")
    await gate.close()
  })

  it("may be in any script, with emoji", async () => {
    const gate = await open()
    for (const branchName of ["日本", "feature/ÄÖÜ#1", "fix 🐛", "שלום", "v\u2764\uFE0F"]) {
      const branch = { accountName: "acme", projectName: "web", branchName }
      assert.match((await gate.deployments.createSource(branch)).uploadUrl, /^http:/)
    }
    await gate.close()
  })

  it("that was stored with invisible characters is still read", async () => {
    const store = MemoryStore.open()
    const stored = { accountName: "acme", projectName: "web", branchName: "ma\u202Ein" }
    await Effect.runPromise(writeEarlierDeployment(store, stored, "web-ma-in-0123abc"))
    const gate = await open(store)
    assert.strictEqual((await gate.deployments.get("web-ma-in-0123abc")).branchName, stored.branchName)
    await gate.close()
  })
})
