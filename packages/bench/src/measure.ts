/** Nothing is discarded: the spread shows the slow rounds too. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export const spread = (values: ReadonlyArray<number>): string =>
  `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`
