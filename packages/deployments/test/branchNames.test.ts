import { assert, describe, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { secret, tokens } from "../../core/test/stores.ts"

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

const open = () =>
  createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: [{ token: tokens.writer, account: "acme" }],
    publicUrl: "http://gate",
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
  })

describe("a branch name", () => {
  it.each(Object.entries(invisible))("must not contain a %s", async (_, character) => {
    const gate = await open()
    const { deployments } = gate.account("acme").project("web")
    const branch = { accountName: "acme", projectName: "web", branchName: `ma${character}in` }
    const response = await gate.handler(
      new Request("http://gate/v1/deployments/sources", {
        method: "POST",
        headers: { authorization: `Bearer ${tokens.writer}` },
        body: JSON.stringify(branch)
      })
    )
    assert.strictEqual(response.status, 400)
    assert.include(await response.text(), '"pointer":"/branchName"')
    const errorTag = await deployments.createSource({ branchName: branch.branchName }).then(
      () => undefined,
      (error: { readonly _tag: string }) => error._tag
    )
    assert.strictEqual(errorTag, "InvalidInput")
    await gate.close()
  })

  it("may use any script and emoji", async () => {
    const gate = await open()
    const { deployments } = gate.account("acme").project("web")
    for (const branchName of ["日本", "feature/ÄÖÜ#1", "fix 🐛", "שלום", "v\u2764\uFE0F"]) {
      assert.match((await deployments.createSource({ branchName })).uploadUrl, /^http:/)
    }
    await gate.close()
  })
})
