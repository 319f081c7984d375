/**
 * `copyContents` for callers outside Effect.
 */

import * as Options from "../runtime/Options.ts"
import { run } from "../runtime/run.ts"
import type { StoreWithContents } from "../store/Store.ts"
import { type CopyOptions, type CopyResult, copyContents } from "./copyContents.ts"
import type { OnProgress } from "./copySteps.ts"

type Contents = Pick<StoreWithContents, "contents">

const hasContents = (value: unknown): value is Contents =>
  typeof value === "object" &&
  value !== null &&
  "contents" in value &&
  Options.hasMethods(value.contents, "read", "write")

const store = () =>
  Options.value(hasContents, (value) =>
    Options.hasMethods(value, "then")
      ? "is a promise; await it, as in await SqliteStore.open(…)"
      : "must be a store that is open, such as await SqliteStore.open(…)"
  )

const copyArguments = Options.struct<CopyOptions & { readonly from: Contents; readonly to: Contents }>()({
  from: store(),
  to: store(),
  onProgress: Options.optional(Options.callback<OnProgress>("must be a function that takes the progress"))
})

/**
 * Copies everything from one open store into another, empty one, and checks the copy: keys verify, quotas and lists stay
 * the same, versions remain valid. Rejects with a `StoreCopyError` if the target is not empty, or if the check finds a
 * difference. Stop all servers that use the source first.
 *
 * @example
 * ```ts
 * const from = await SqliteStore.open("data/tollgate.db")
 * const to = await RedisStore.open("redis://localhost:6379")
 * const { records, hash } = await copyStore(from, to)
 * ```
 */
export const copyStore = async (from: Contents, to: Contents, options: CopyOptions = {}): Promise<CopyResult> => {
  const decoded = Options.decodeSync(copyArguments, { ...options, from, to })
  return run(copyContents(decoded.from.contents, decoded.to.contents, decoded))
}
