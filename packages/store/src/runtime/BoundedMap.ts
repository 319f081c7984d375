/**
 * A cache with a maximum weight that evicts entries which were not used recently. It has two generations: reads move an
 * entry to the young generation, and when that is full, the old generation is dropped.
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

  /** Without `weigh`, `maxWeight` is the number of entries. An entry heavier than half of `maxWeight` is not stored. */
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
    const oldValue = this.#old.get(key)
    if (oldValue !== undefined) this.set(key, oldValue)
    return oldValue
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
