/**
 * The store's own options, and what is wrong with them: a misspelled one is refused, not ignored.
 */
export interface RedisStoreOptions {
  /**
   * Stands in front of every key, behind the `keyPrefix` of ioredis options or of a client. The default is `tollgate:`.
   */
  readonly prefix?: string | undefined
  /** Milliseconds after which a command that was not answered has failed. The default is 2000. */
  readonly commandTimeout?: number | undefined
  /**
   * Answers a commit only when so many replicas have it, within so many milliseconds: without it, a failover may lose
   * writes that were answered.
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

/** What `setTimeout` can hold. */
const longestTimeout = 2 ** 31 - 1

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1
const isTimeout = (value: unknown): boolean => isCount(value) && value <= longestTimeout
const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const optionError = (problem: string, remedy: string): OptionError => ({ problem, remedy })

export const checkPrefix = (prefix: unknown): OptionError | undefined => {
  if (typeof prefix !== "string") return optionError("the prefix is not a string", 'Give one such as "tollgate:"')
  // Redis Cluster places a key by what its first braces enclose, which must be the partition.
  return /[{}]/.test(prefix)
    ? optionError(`the prefix "${prefix}" has a brace in it`, "Choose one without { and }")
    : undefined
}

const checkWaitReplicas = (value: unknown): OptionError | undefined => {
  const remedy = "Give { count, timeout }: a number of replicas from 1, and milliseconds from 1"
  if (!isRecord(value)) return optionError("waitReplicas is not an object", remedy)
  const unknown = Object.keys(value).find((name) => name !== "count" && name !== "timeout")
  if (unknown !== undefined) return optionError(`waitReplicas has no option ${unknown}`, remedy)
  return isCount(Reflect.get(value, "count")) && isTimeout(Reflect.get(value, "timeout"))
    ? undefined
    : optionError("waitReplicas has a count or timeout that is not a positive integer", remedy)
}

const list = Object.keys(optionNames).join(", ")

export const checkOptions = (options: unknown): OptionError | undefined => {
  if (!isRecord(options)) return optionError("its options are not an object", `Give an object with any of ${list}`)
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined) return optionError(`there is no option ${unknown}`, `The options are ${list}`)
  const { prefix, commandTimeout, waitReplicas }: RedisStoreOptions = options
  if (commandTimeout !== undefined && !isTimeout(commandTimeout)) {
    return optionError("commandTimeout is not a positive integer", "Give a number of milliseconds from 1")
  }
  return (
    (prefix === undefined ? undefined : checkPrefix(prefix)) ??
    (waitReplicas === undefined ? undefined : checkWaitReplicas(waitReplicas))
  )
}

/** Options of the store that stand where ioredis' own belong, and would be ignored there. */
export const findMisplaced = (source: object): string | undefined =>
  Object.keys(source).find((name) => name === "prefix" || name === "waitReplicas")
