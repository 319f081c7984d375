import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { checkNodeVersion } from "@tollgate/store/internal"

describe("checkNodeVersion", () => {
  it.each(["20.20.2", "22.18.9", "21.99.0", "9.30.0"])("refuses Node %s and says what to install", (version) => {
    assert.strictEqual(
      checkNodeVersion(version)?.message,
      `node: version ${version} is too old; install Node 22.19 or later`
    )
  })

  it.each(["22.19.0", "23.0.0", "24.21.0", "100.0.0", "25.0.0-nightly20260101"])("accepts Node %s", (version) => {
    assert.strictEqual(checkNodeVersion(version), undefined)
  })

  it("accepts exactly what the package declares", () => {
    const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? []
    assert.strictEqual(checkNodeVersion(`${major}.${minor}.0`), undefined)
    assert.isDefined(checkNodeVersion(`${major}.${Number(minor) - 1}.0`))
  })
})
