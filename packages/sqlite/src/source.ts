/**
 * Validates the arguments of `SqliteStore` before any file is opened or created.
 */
export interface SqliteOptions {
  /**
   * - `full` (the default): an acknowledged write survives a power loss
   * - `normal`: faster; an acknowledged write survives a crash of the process, but a power loss may lose the latest ones
   */
  readonly durability?: "full" | "normal" | undefined
}

export interface ArgumentError {
  readonly problem: string
  readonly remedy: string
}

const optionNames: Readonly<Record<keyof SqliteOptions, true>> = { durability: true }
const optionList = Object.keys(optionNames).join(", ")

const hasMethods = (value: object, ...names: ReadonlyArray<string>): boolean =>
  names.every((name) => typeof Reflect.get(value, name) === "function")

/** Checks methods rather than the class, because your application may use another copy of better-sqlite3. */
const isDatabase = (value: object): boolean => hasMethods(value, "pragma", "prepare", "backup") && "memory" in value

const describeType = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return value == null ? String(value) : `a ${typeof value}`
  if (hasMethods(value, "then")) return "a promise"
  if (hasMethods(value, "prepare", "exec", "createSession")) return "a database of node:sqlite"
  if (Array.isArray(value)) return "an array"
  const name = value.constructor?.name ?? "Object"
  return name === "Object" ? "an object" : `a ${name}`
}

export const checkSource = (source: unknown): ArgumentError | undefined => {
  if (typeof source === "string" || (typeof source === "object" && source !== null && isDatabase(source))) {
    return undefined
  }
  return {
    problem: `the first argument is ${describeType(source)}`,
    remedy: 'Pass a path, such as "data/tollgate.db", or ":memory:", or an open better-sqlite3 Database'
  }
}

export const checkOptions = (options: unknown): ArgumentError | undefined => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return { problem: "the options are not an object", remedy: `Pass an object. The options are ${optionList}` }
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined)
    return { problem: `the option "${unknown}" does not exist`, remedy: `The options are ${optionList}` }
  const durability: unknown = Reflect.get(options, "durability")
  return durability === undefined || durability === "full" || durability === "normal"
    ? undefined
    : { problem: 'durability is neither "full" nor "normal"', remedy: 'Pass "full" (the default) or "normal"' }
}
