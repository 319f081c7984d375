/**
 * A map whose values are forgotten after a time. What has expired is dropped when the map has doubled since the last
 * look, so that it never holds much more than what is alive, at no cost worth counting.
 */
export class ExpiringMap<A> {
  readonly #held = new Map<string, { readonly value: A; readonly expires: number }>()
  #sweepAt = 1024

  get(name: string, now: number): A | undefined {
    const held = this.#held.get(name)
    return held !== undefined && held.expires > now ? held.value : undefined
  }

  set(name: string, value: A, expires: number, now: number): void {
    this.#held.set(name, { value, expires })
    if (this.#held.size < this.#sweepAt) return
    for (const [name, held] of this.#held) if (held.expires <= now) this.#held.delete(name)
    this.#sweepAt = Math.max(1024, this.#held.size * 2)
  }

  /** Sets a value that is kept at least as long as it was promised before. */
  prolong(name: string, value: A, expires: number, now: number): void {
    this.set(name, value, Math.max(expires, this.#held.get(name)?.expires ?? 0), now)
  }

  clear(): void {
    this.#held.clear()
  }
}
