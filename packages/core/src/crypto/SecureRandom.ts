/**
 * Where randomness comes from: the operating system, unless a test says otherwise.
 */
import { randomBytes, randomFillSync } from "node:crypto"
import { Context } from "effect"

/** Asking the system costs microseconds however little is asked for, so it is asked for some at once. */
const pool = new Uint8Array(4096)
let used = pool.length

/** Each byte is given out once, and is not kept. */
const fromPool = (count: number): Uint8Array => {
  if (count > pool.length / 4) return randomBytes(count)
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const given = pool.slice(used, used + count)
  pool.fill(0, used, used + count)
  used += count
  return given
}

export const SecureRandom = Context.Reference<{ readonly bytes: (count: number) => Uint8Array }>(
  "@tollgate/core/crypto/SecureRandom",
  { defaultValue: () => ({ bytes: fromPool }) }
)
