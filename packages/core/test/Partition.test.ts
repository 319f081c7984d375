import { Partition } from "@tollgate/core"
import { expect, it } from "vitest"

it("never gives two tenants one name", () => {
  const awkward = ["a", "b", "a/b", "a%2Fb", "", "{a}", "}", "a:b", "..", "*"]
  const names = awkward.flatMap((account) => awkward.map((bucket) => Partition.keys(account, bucket)))
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^keys(\/[^/{}:\s]*){2}$/)
})

it("keeps areas apart", () => {
  const names = [
    Partition.keys("a", "b"),
    Partition.deployments("a", "b"),
    Partition.metering("a"),
    Partition.metering("a/b"),
    Partition.meteringDirectory,
    Partition.deploymentDirectory
  ]
  expect(new Set(names).size).toBe(names.length)
})
