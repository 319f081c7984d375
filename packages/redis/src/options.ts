/**
 * The options of `RedisStore`, and their validation. A misspelled option is an error, not ignored.
 */
export interface RedisStoreOptions {
  /**
   * Prefix of every key, after the `keyPrefix` of the ioredis options or client. The default is `tollgate:`.
   */
  readonly prefix?: string | undefined
  /** Milliseconds after which a command without a reply fails. The default is 2000. */
  readonly commandTimeout?: number | undefined
  /**
   * Acknowledges a commit only when `count` replicas have it within `timeout` milliseconds. Without this option, a
   * failover may lose acknowledged writes.
   */
  readonly waitReplicas?: { readonly count: number; readonly timeout: number } | undefined
}

const optionNames: Readonly<Record<keyof RedisStoreOptions, true>> = {
  prefix: true,
  commandTimeout: true,
  waitReplicas: true
}

export interface OptionError {
  readonly problem: string
  readonly remedy: string
}

/** The maximum delay of `setTimeout`. */
const maxTimeout = 2 ** 31 - 1

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1
const isTimeout = (value: unknown): boolean => isCount(value) && value <= maxTimeout
const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const optionError = (problem: string, remedy: string): OptionError => ({ problem, remedy })

export const checkPrefix = (prefix: unknown): OptionError | undefined => {
  if (typeof prefix !== "string") return optionError("the prefix is not a string", 'Pass a string, such as "tollgate:"')
  // Redis Cluster hashes the part of a key within its first braces, which must be the partition.
  return /[{}]/.test(prefix)
    ? optionError(`the prefix "${prefix}" contains a brace`, "Use a prefix without { and }")
    : undefined
}

const checkWaitReplicas = (value: unknown): OptionError | undefined => {
  const remedy = "Pass { count, timeout }: the number of replicas and the milliseconds to wait, both at least 1"
  if (!isRecord(value)) return optionError("waitReplicas is not an object", remedy)
  const unknown = Object.keys(value).find((name) => name !== "count" && name !== "timeout")
  if (unknown !== undefined) return optionError(`waitReplicas has no option "${unknown}"`, remedy)
  return isCount(Reflect.get(value, "count")) && isTimeout(Reflect.get(value, "timeout"))
    ? undefined
    : optionError("waitReplicas has a count or timeout that is not a positive integer", remedy)
}

const optionList = Object.keys(optionNames).join(", ")

export const checkOptions = (options: unknown): OptionError | undefined => {
  if (!isRecord(options))
    return optionError("the options are not an object", `Pass an object. The options are ${optionList}`)
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined)
    return optionError(`the option "${unknown}" does not exist`, `The options are ${optionList}`)
  const { prefix, commandTimeout, waitReplicas }: RedisStoreOptions = options
  if (commandTimeout !== undefined && !isTimeout(commandTimeout)) {
    return optionError("commandTimeout is not a positive integer", "Pass a number of milliseconds, at least 1")
  }
  return (
    (prefix === undefined ? undefined : checkPrefix(prefix)) ??
    (waitReplicas === undefined ? undefined : checkWaitReplicas(waitReplicas))
  )
}

/** Finds an option of the store among the ioredis options, where ioredis would ignore it. */
export const findMisplacedOption = (source: object): string | undefined =>
  Object.keys(source).find((name) => name === "prefix" || name === "waitReplicas")
