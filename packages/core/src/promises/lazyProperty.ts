/** Adds a property that is made on its first use: a handle has many methods, and most handles use few of them. */
export const withLazyProperty = <Target extends object, Name extends string, Value>(
  target: Target,
  name: Name,
  make: () => Value
): Target & { readonly [Key in Name]: Value } => {
  let cached: Value | undefined
  Object.defineProperty(target, name, {
    enumerable: true,
    get: () => {
      cached ??= make()
      return cached
    }
  })
  return target as Target & { readonly [Key in Name]: Value }
}
