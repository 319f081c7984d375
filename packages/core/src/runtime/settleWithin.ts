/** Waits until something is over, however it ends, and no longer than so many milliseconds. */
export const settleWithin = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([work.catch(() => undefined), enough])
  clearTimeout(timer)
}
