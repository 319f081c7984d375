/**
 * What a SQLite store can be opened on and with, checked before anything is opened or created.
 */
export interface SqliteOptions {
  /**
   * - `full` (the default): an answered write survives the loss of power
   * - `normal`: it survives a crash of the process; the last few may be lost with the power. Faster.
   */
  readonly durability?: "full" | "normal" | undefined
}

export interface OptionError {
  readonly problem: string
  readonly remedy: string
}

const optionNames: Readonly<Record<keyof SqliteOptions, true>> = { durability: true }
const list = Object.keys(optionNames).join(", ")

const hasMethods = (value: object, ...names: ReadonlyArray<string>): boolean =>
  names.every((name) => typeof Reflect.get(value, name) === "function")

/** By its methods, not by its class: the host may have another copy of better-sqlite3. */
const isDatabase = (value: object): boolean => hasMethods(value, "pragma", "prepare", "backup") && "memory" in value

const describeType = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return value == null ? String(value) : `a ${typeof value}`
  if (hasMethods(value, "then")) return "a promise"
  if (hasMethods(value, "prepare", "exec", "createSession")) return "a database of node:sqlite"
  if (Array.isArray(value)) return "an array"
  const name = value.constructor?.name ?? "Object"
  return name === "Object" ? "an object" : `a ${name}`
}

export const checkSource = (source: unknown): OptionError | undefined => {
  if (typeof source === "string" || (typeof source === "object" && source !== null && isDatabase(source))) {
    return undefined
  }
  return {
    problem: `its first argument is ${describeType(source)}`,
    remedy: 'Give a path, such as "data/tollgate.db", or ":memory:", or an open Database of better-sqlite3'
  }
}

export const checkOptions = (options: unknown): OptionError | undefined => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return { problem: "its options are not an object", remedy: `Give an object with any of ${list}` }
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined) return { problem: `there is no option ${unknown}`, remedy: `The options are ${list}` }
  const durability: unknown = Reflect.get(options, "durability")
  return durability === undefined || durability === "full" || durability === "normal"
    ? undefined
    : { problem: "durability is neither full nor normal", remedy: 'Give "full", which is the default, or "normal"' }
}
