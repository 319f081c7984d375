import { BoundedMap } from "@tollgate/store"
import { describe, expect, it } from "vitest"

describe("BoundedMap", () => {
  it("stays within its maximum weight and keeps recently used entries", () => {
    const map = new BoundedMap<number, string>(100, (value) => value.length)
    for (let key = 0; key < 1_000; key++) {
      map.set(key, "x".repeat(key % 10))
      expect(map.get(0)).toBe("")
    }
    let weight = 0
    for (let key = 0; key < 1_000; key++) weight += map.has(key) ? key % 10 : 0
    expect(weight).toBeLessThanOrEqual(100)
    expect(map.get(999)).toBe("x".repeat(9))
    expect(map.get(500)).toBeUndefined()
  })

  it("updates its weight and size when an entry is replaced or deleted", () => {
    const map = new BoundedMap<string, string>(20, (value) => value.length)
    for (let round = 0; round < 100; round++) map.set("a", "12345")
    map.set("b", "12345")
    expect([map.get("a"), map.get("b"), map.size]).toEqual(["12345", "12345", 2])
    expect([map.delete("a"), map.delete("a"), map.get("a"), map.size]).toEqual([true, false, undefined, 1])
    map.clear()
    expect(map.size).toBe(0)
  })

  it("does not store an entry that is too heavy, and drops the entry it replaces", () => {
    const map = new BoundedMap<string, string>(10, (value) => value.length)
    map.set("a", "1").set("a", "123456")
    expect(map.get("a")).toBeUndefined()
  })
})
