import type { Commit, GetByUniqueKey } from "./StoreOperations.ts"

/** Adds the function that answers at once to an operation of a store, if there is one. */
export const withNow = <Operation extends Commit | GetByUniqueKey>(
  operation: (...args: Parameters<Operation>) => ReturnType<Operation>,
  now: Operation["now"]
): Operation => (now === undefined ? operation : Object.assign(operation, { now })) as unknown as Operation
