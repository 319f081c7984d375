/**
 * Where randomness comes from: the operating system, unless a test says otherwise.
 */
import { randomBytes } from "node:crypto"
import { Context } from "effect"

export const Entropy = Context.Reference<{ readonly bytes: (count: number) => Uint8Array }>(
  "@tollgate/core/shared/Entropy",
  { defaultValue: () => ({ bytes: (count) => randomBytes(count) }) }
)
