/**
 * Cryptographically secure random bytes from the operating system. Tests can replace the source.
 */
import { randomBytes, randomFillSync } from "node:crypto"
import { Context } from "effect"

/**
 * A call to the operating system costs microseconds whatever its size, so bytes are fetched in bulk. All Tollgates of a
 * process share them, as they share the operating system: nobody can tell which bytes others got.
 */
const pool = new Uint8Array(4096)
let position = pool.length

/** Returns each byte once, and erases it from the pool. */
const fromPool = (count: number): Uint8Array => {
  if (count > pool.length / 4) return randomBytes(count)
  if (position + count > pool.length) {
    randomFillSync(pool)
    position = 0
  }
  const bytes = pool.slice(position, position + count)
  pool.fill(0, position, position + count)
  position += count
  return bytes
}

/** The source of random bytes for keys and ids. The default is the operating system; tests can provide another. */
export const SecureRandom = Context.Reference<{ readonly bytes: (count: number) => Uint8Array }>(
  "@tollgate/store/crypto/SecureRandom",
  { defaultValue: () => ({ bytes: fromPool }) }
)
