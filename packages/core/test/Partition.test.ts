import { Partition } from "@tollgate/store"
import { expect, it } from "vitest"
import { deploymentDirectory, forProject } from "../../deployments/src/model/partitions.ts"
import { toPartition } from "../../tokens/src/credentialValues.ts"

it("gives every account and bucket a different partition name", () => {
  const specialNames = ["a", "b", "a/b", "a%2Fb", "", "{a}", "}", "a:b", "..", "*"]
  const names = specialNames.flatMap((account) => specialNames.map((bucket) => Partition.forKeyBucket(account, bucket)))
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^keys(\/[^/{}:\s]*){2}$/)
})

it("gives key buckets, deployments, metering buckets and directories different names", () => {
  const names = [
    Partition.forKeyBucket("a", "b"),
    forProject("a", "b"),
    Partition.forMeteringBucket("a"),
    Partition.forMeteringBucket("a/b"),
    Partition.accountsDirectory,
    Partition.keysDirectory,
    Partition.meteringDirectory,
    deploymentDirectory,
    toPartition("a"),
    toPartition("*")
  ]
  expect(new Set(names).size).toBe(names.length)
})
