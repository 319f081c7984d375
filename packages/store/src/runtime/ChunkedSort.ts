/**
 * Sorts items by a number without blocking the event loop: it sorts small chunks as the items arrive, and merges the
 * chunks while the result is read.
 */
const chunkSize = 5_000

interface Ranked<A> {
  readonly rank: number
  readonly item: A
}

export class ChunkedSort<A> {
  readonly #chunks: Array<ReadonlyArray<Ranked<A>>> = []
  #pending: Array<Ranked<A>> = []

  add(rank: number, item: A): void {
    this.#pending.push({ rank, item })
    if (this.#pending.length === chunkSize) this.#sortPending()
  }

  /** The items in ascending order. Of items with the same rank, it yields one. */
  *[Symbol.iterator](): Generator<A> {
    this.#sortPending()
    const positions = this.#chunks.map(() => 0)
    let previous: number | undefined
    for (;;) {
      let smallest = -1
      let next: Ranked<A> | undefined
      for (const [index, chunk] of this.#chunks.entries()) {
        const candidate = chunk[positions[index] ?? 0]
        if (candidate === undefined || (next !== undefined && candidate.rank >= next.rank)) continue
        smallest = index
        next = candidate
      }
      if (next === undefined) return
      positions[smallest] = (positions[smallest] ?? 0) + 1
      if (next.rank !== previous) yield next.item
      previous = next.rank
    }
  }

  #sortPending(): void {
    if (this.#pending.length === 0) return
    this.#chunks.push(this.#pending.sort((left, right) => left.rank - right.rank))
    this.#pending = []
  }
}
