/**
 * Whether a value is an object literal, also one of another realm. Options of another kind, such as a promise that was
 * not awaited, may have no properties of their own, and would count as no options at all.
 */
export const isPlainObject = (value: unknown): value is object => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
