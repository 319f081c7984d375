/** Calls that run a few at a time, as browsers do anyway: the others would only wait in its queue. */
const concurrency = 6

export const forEachOf = async <A, B>(items: ReadonlyArray<A>, load: (item: A) => Promise<B>): Promise<Array<B>> => {
  const results: Array<B> = []
  const waiting = items.entries()
  const work = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await load(item)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return results
}
