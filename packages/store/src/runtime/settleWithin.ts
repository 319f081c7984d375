/** Waits until the work settles, or the time is up. Never rejects. */
export const settleWithin = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  const { promise: timeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([work.catch(() => undefined), timeout])
  clearTimeout(timer)
}
