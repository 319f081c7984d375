import { nextBatch } from "@tollgate/core/internal"
import { expect, it } from "vitest"

it("serves connections in turn, however many requests one of them sends", async () => {
  const [greedy, polite] = [{}, {}]
  const order: Array<string> = []
  const waits = Array.from({ length: 1_000 }, () => nextBatch(greedy).then(() => order.push("greedy")))
  waits.push(nextBatch(polite).then(() => order.push("polite")))
  await Promise.all(waits)
  expect(order.length).toBe(1_001)
  expect(order.indexOf("polite")).toBe(1)
})

it("serves more than one batch of connections in the order of their arrival", async () => {
  const order: Array<number> = []
  const serve = (index: number) => nextBatch({}).then(() => order.push(index))
  await Promise.all(Array.from({ length: 200 }, (_, index) => serve(index)))
  expect(order).toEqual(Array.from({ length: 200 }, (_, index) => index))
})
