/**
 * Adds up values that are read when the metrics are collected.
 */
import type { Attributes } from "@tollgate/core/module"

export interface ObservedSums {
  /** Includes a value until the returned function is called. */
  readonly add: (read: () => number, attributes: Attributes) => () => void
  /** The sum for each combination of attributes. */
  readonly read: () => ReadonlyArray<{ readonly value: number; readonly attributes: Attributes }>
}

interface Sum {
  readonly attributes: Attributes
  readonly reads: Set<() => number>
  /** What counters that were removed had counted: a counter never decreases. */
  retained: number
}

export const makeObservedSums = (isCounter: boolean): ObservedSums => {
  const sums = new Map<string, Sum>()
  return {
    add: (read, attributes) => {
      const key = Object.values(attributes).join("\n")
      const sum = sums.get(key) ?? { attributes, reads: new Set(), retained: 0 }
      sums.set(key, sum)
      sum.reads.add(read)
      return () => {
        if (sum.reads.delete(read) && isCounter) sum.retained += read()
      }
    },
    read: () =>
      [...sums.values()].map(({ attributes, reads, retained }) => ({
        value: [...reads].reduce((total, read) => total + read(), retained),
        attributes
      }))
  }
}
