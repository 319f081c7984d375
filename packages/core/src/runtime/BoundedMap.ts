/**
 * A map that forgets what was not used lately when it would become too heavy. It keeps two generations: entries that are
 * read move to the young one, and when that is full, the old one is dropped.
 *
 * @example
 * ```ts
 * const bodies = new BoundedMap<string, string>(1_000_000, (body) => body.length)
 * ```
 */
export class BoundedMap<Key, Value> {
  readonly #halfWeight: number
  readonly #weigh: (value: Value, key: Key) => number
  #young = new Map<Key, Value>()
  #old = new Map<Key, Value>()
  #weight = 0

  /** Without `weigh`, `maxWeight` is a number of entries. What weighs more than half of it is not kept. */
  constructor(maxWeight: number, weigh: (value: Value, key: Key) => number = () => 1) {
    this.#halfWeight = maxWeight / 2
    this.#weigh = weigh
  }

  get size(): number {
    let size = this.#young.size
    for (const key of this.#old.keys()) if (!this.#young.has(key)) size++
    return size
  }

  has(key: Key): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  get(key: Key): Value | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const older = this.#old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: Key, value: Value): this {
    this.delete(key)
    const weight = this.#weigh(value, key)
    if (weight > this.#halfWeight) return this
    if (this.#weight + weight > this.#halfWeight) {
      this.#old = this.#young
      this.#young = new Map()
      this.#weight = 0
    }
    this.#young.set(key, value)
    this.#weight += weight
    return this
  }

  delete(key: Key): boolean {
    const wasOld = this.#old.delete(key)
    const value = this.#young.get(key)
    if (value === undefined) return wasOld
    this.#weight -= this.#weigh(value, key)
    return this.#young.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#weight = 0
  }
}
