/**
 * A map whose entries expire. Expired entries are swept whenever the map has doubled in size since the last sweep,
 * so the amortised cost of sweeping is constant per entry.
 */
export class ExpiringMap<A> {
  readonly #entries = new Map<string, { readonly value: A; readonly expires: number }>()
  /** The size at which the next sweep runs. */
  #sweepSize = 1024

  get(name: string, now: number): A | undefined {
    const entry = this.#entries.get(name)
    return entry !== undefined && entry.expires > now ? entry.value : undefined
  }

  set(name: string, value: A, expires: number, now: number): void {
    this.#entries.set(name, { value, expires })
    if (this.#entries.size < this.#sweepSize) return
    for (const [name, entry] of this.#entries) if (entry.expires <= now) this.#entries.delete(name)
    this.#sweepSize = Math.max(1024, this.#entries.size * 2)
  }

  /** Sets a value and extends its expiry. An expiry that is already later stays as it is. */
  setAndExtend(name: string, value: A, expires: number, now: number): void {
    this.set(name, value, Math.max(expires, this.#entries.get(name)?.expires ?? 0), now)
  }

  delete(name: string): void {
    this.#entries.delete(name)
  }

  /** The entries that have not expired. */
  *entries(now: number): Generator<{ readonly name: string; readonly value: A; readonly expires: number }> {
    for (const [name, { value, expires }] of this.#entries) if (expires > now) yield { name, value, expires }
  }

  clear(): void {
    this.#entries.clear()
  }
}
