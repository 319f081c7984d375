import { expect, it } from "vitest"
import { Postings, type Slot } from "../src/Postings.ts"

const makeSlot = (created: number): Slot => ({
  created,
  record: { key: String(created), version: created, body: "", indexTerms: [], uniqueKeys: [] }
})

it("keeps the order of creation when the oldest and others are removed and added in turn", () => {
  const postings = new Postings()
  let expected: Array<Slot> = []
  const add = (slot: Slot) => {
    postings.add(slot)
    expected = [...expected, slot].sort((left, right) => left.created - right.created)
  }
  const remove = (index: number) => {
    const slot = expected[index] as Slot
    postings.remove(slot)
    expected = expected.filter((other) => other !== slot)
    return slot
  }
  const check = () => {
    expect(postings.slice()).toEqual(expected)
    expect(postings).toHaveLength(expected.length)
    expect(postings.slice(1, 3)).toEqual(expected.slice(1, 3))
    expect(postings.slice(expected.length - 1, expected.length + 5)).toEqual(expected.slice(-1))
  }
  for (let created = 1; created <= 20; created++) add(makeSlot(created))
  for (let created = 21; created <= 60; created++) {
    const oldest = remove(0)
    check()
    if (created % 3 === 0) add(makeSlot(created))
    if (created % 5 === 0) remove(Math.floor(expected.length / 2))
    // A term that a record gets later: its place is that of its creation.
    if (created % 7 === 0) add(oldest)
    postings.remove(makeSlot(created))
    check()
    if (expected.length < 2) add(makeSlot(created + 0.5))
  }
  while (expected.length > 0) remove(0)
  expect(postings.slice()).toEqual([])
  add(makeSlot(100))
  expect(postings.slice()).toEqual(expected)
})

it("filters records by another term, at any distance from each other and after the oldest were removed", () => {
  const slots = Array.from({ length: 200 }, (_, index) => makeSlot(index + 1))
  const classes: ReadonlyArray<(created: number) => boolean> = [
    () => true,
    (created) => created % 2 === 0,
    (created) => created % 7 === 0,
    (created) => created <= 60,
    (created) => created > 150,
    (created) => created === 1 || created === 200,
    () => false
  ]
  const isRemoved = ({ created }: Slot) => created <= 3
  for (const hasTerm of classes) {
    const postings = new Postings()
    for (const slot of slots) if (hasTerm(slot.created)) postings.add(slot)
    for (const slot of slots) if (isRemoved(slot)) postings.remove(slot)
    for (const hasOther of classes) {
      const others = slots.filter(({ created }) => hasOther(created))
      expect(postings.filter(others)).toEqual(others.filter((slot) => hasTerm(slot.created) && !isRemoved(slot)))
    }
  }
})
