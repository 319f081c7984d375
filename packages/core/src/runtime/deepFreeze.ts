const isPlain = (value: unknown): value is object =>
  Array.isArray(value) ||
  (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)

/** The same value, which nobody can change: it is given to several. What is no plain data is left alone. */
export const deepFreeze = <A>(value: A): A => {
  if (!isPlain(value) || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/** A copy of plain data, which its owner may change. */
export const clonePlain = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(clonePlain) as A
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, clonePlain(part)])) as A
}
