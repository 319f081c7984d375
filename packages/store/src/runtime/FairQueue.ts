/**
 * A queue in which keys take turns, such as accounts: one that adds thousands of items delays only its own.
 */
export class FairQueue<Item> {
  /** The items of each key, oldest first. The key whose turn is next comes first. */
  readonly #items = new Map<string, Set<Item>>()

  get isEmpty(): boolean {
    return this.#items.size === 0
  }

  /** Adds an item, unless it waits already. */
  add(key: string, item: Item): void {
    const items = this.#items.get(key) ?? new Set()
    this.#items.set(key, items.add(item))
  }

  /** Returns whether the item was waiting. */
  delete(key: string, item: Item): boolean {
    const items = this.#items.get(key)
    if (items?.size === 1 && items.has(item)) this.#items.delete(key)
    return items?.delete(item) ?? false
  }

  /** Removes and returns the oldest item of the next key: of one with the least load, if there is a measure of it. */
  take(loadOf: (key: string) => number = () => 0): { readonly key: string; readonly item: Item } | undefined {
    let next: string | undefined
    let least = Number.POSITIVE_INFINITY
    for (const key of this.#items.keys()) {
      const load = loadOf(key)
      if (load < least) [next, least] = [key, load]
      if (least === 0) break
    }
    const items = next === undefined ? undefined : this.#items.get(next)
    if (next === undefined || items === undefined) return undefined
    this.#items.delete(next)
    for (const item of items) {
      items.delete(item)
      // A key that is added again comes last.
      if (items.size > 0) this.#items.set(next, items)
      return { key: next, item }
    }
    return undefined
  }
}
