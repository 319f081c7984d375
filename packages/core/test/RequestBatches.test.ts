import { EventEmitter } from "node:events"
import { RequestBatches } from "@tollgate/core/internal"
import { pauseAbove } from "@tollgate/store/internal"
import { expect, it } from "vitest"

const batches = new RequestBatches()

/** A connection that counts how often it is paused and resumed. */
const makeConnection = () => {
  const emitter = new EventEmitter()
  const state = { isPaused: false, pauses: 0 }
  return Object.assign(emitter, {
    state,
    pause: () => {
      state.isPaused = true
      state.pauses++
    },
    resume: () => {
      state.isPaused = false
      emitter.emit("resume")
    }
  })
}

it("pauses a connection while many of its requests wait, and leaves no listener behind", async () => {
  const connection = makeConnection()
  const few = Array.from({ length: pauseAbove }, () => batches.next(connection))
  expect(connection.state.isPaused).toBe(false)
  const many = Array.from({ length: 100 }, () => batches.next(connection))
  expect(connection.state.isPaused).toBe(true)
  // As Node does when responses were read.
  connection.resume()
  expect(connection.state.isPaused).toBe(true)
  expect(new Set(await Promise.all([...few, ...many]))).toEqual(new Set([true]))
  expect(connection.state).toEqual({ isPaused: false, pauses: 2 })
  expect(connection.eventNames()).toEqual([])
})

it("does not serve the requests of a connection that is closed", async () => {
  const connection = makeConnection()
  const waits = Array.from({ length: 200 }, () => batches.next(connection))
  connection.emit("close")
  expect(new Set(await Promise.all(waits))).toEqual(new Set([false]))
})

it("refuses what is too much for one connection, and for all together", async () => {
  const served = async (connections: ReadonlyArray<object>, each: number) => {
    const waits = connections.flatMap((connection) => Array.from({ length: each }, () => batches.next(connection)))
    return (await Promise.all(waits)).filter((isServed) => isServed).length
  }
  expect(await served([{}], 10_000)).toBe(4_096)
  expect(
    await served(
      Array.from({ length: 100 }, () => ({})),
      1_000
    )
  ).toBe(32_768)
  expect(await batches.next({})).toBe(true)
})

it("serves connections in turn, however many requests one of them sends", async () => {
  const [greedy, polite] = [{}, {}]
  const order: Array<string> = []
  const waits = Array.from({ length: 1_000 }, () => batches.next(greedy).then(() => order.push("greedy")))
  waits.push(batches.next(polite).then(() => order.push("polite")))
  await Promise.all(waits)
  expect(order.length).toBe(1_001)
  expect(order.indexOf("polite")).toBe(1)
})

it("serves more than one batch of connections in the order of their arrival", async () => {
  const order: Array<number> = []
  const serve = (index: number) => batches.next({}).then(() => order.push(index))
  await Promise.all(Array.from({ length: 200 }, (_, index) => serve(index)))
  expect(order).toEqual(Array.from({ length: 200 }, (_, index) => index))
})
