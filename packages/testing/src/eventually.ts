import { setTimeout as delay } from "node:timers/promises"

/** Long, because test machines are shared. */
const timeoutMs = 90_000
const intervalMs = 50

/**
 * Repeats a check until it no longer throws, and returns its result; throws the check's last error after 90 s. It does
 * not import Vitest, so that worker processes can import this package.
 */
export const eventually = async <Result>(check: () => Result | Promise<Result>): Promise<Result> => {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await delay(intervalMs)
  }
}
