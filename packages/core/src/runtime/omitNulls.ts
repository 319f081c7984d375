/** A copy without the properties that are `null`, which clears a field in an update. */
export const omitNulls = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as {
    readonly [Field in keyof T]: Exclude<T[Field], null>
  }
