const isPlain = (value: unknown): value is object =>
  Array.isArray(value) ||
  (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)

/** Freezes plain data, so that several callers can share it. Class instances stay as they are. */
export const deepFreeze = <A>(value: A): A => {
  if (!isPlain(value) || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/** Deep-copies plain data, so that the caller may change it. */
export const clonePlain = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(clonePlain) as A
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, clonePlain(part)])) as A
}
