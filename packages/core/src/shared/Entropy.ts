/**
 * Where randomness comes from: the operating system, unless a test says otherwise.
 */
import { randomBytes } from "node:crypto"
import { Context } from "effect"

/** Asking the system costs microseconds however little is asked for, so it is asked for some at once. */
const poolSize = 4096
let pool = Buffer.alloc(0)

/** Each byte is given out once, and is not kept. */
const fromPool = (count: number): Uint8Array => {
  if (count > poolSize / 4) return randomBytes(count)
  if (pool.length < count) pool = randomBytes(poolSize)
  const given = Uint8Array.from(pool.subarray(0, count))
  pool.fill(0, 0, count)
  pool = pool.subarray(count)
  return given
}

export const Entropy = Context.Reference<{ readonly bytes: (count: number) => Uint8Array }>(
  "@tollgate/core/shared/Entropy",
  { defaultValue: () => ({ bytes: fromPool }) }
)
