import { ensureRedis } from "./packages/testing/src/redisBinary.ts"

/** Before all tests: there is a real Redis, or one line says how to get it. */
export default function setup(): void {
  ensureRedis()
}
