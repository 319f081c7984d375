/**
 * Runs a script by its hash, and by its text where the server has forgotten it.
 */
import type { Cluster, Redis } from "ioredis"
import { isScriptMissing, isSlotMoved, TooFewReplicas } from "./classifyError.ts"
import type { Script } from "./scripts.ts"
import { isCluster } from "./source.ts"

type Arguments = ReadonlyArray<string | number>

export const run = async (
  client: Redis | Cluster,
  { lua, sha }: Script,
  keys: ReadonlyArray<string>,
  args: Arguments
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...args]
  try {
    return await client.call("evalsha", [sha, ...rest])
  } catch (error) {
    if (!isScriptMissing(error)) throw error
    return client.call("eval", [lua, ...rest])
  }
}

/** The same, and then waits on the same connection until enough replicas have it. */
export const runAndWait = async (
  client: Redis | Cluster,
  { lua, sha }: Script,
  keys: ReadonlyArray<string>,
  args: Arguments,
  { count, timeout }: { readonly count: number; readonly timeout: number }
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...args]
  const together = async (command: "evalsha" | "eval", text: string) => {
    const pipeline = client.pipeline()
    pipeline.call(command, [text, ...rest])
    pipeline.call("wait", [count, timeout])
    const [written, waited] = (await pipeline.exec()) ?? []
    const failure = written?.[0] ?? waited?.[0]
    if (failure !== null && failure !== undefined) throw failure
    if (Number(waited?.[1]) < count) throw new TooFewReplicas(`${waited?.[1]} of ${count} replicas confirmed the write`)
    return written?.[1]
  }
  try {
    return await together("evalsha", sha)
  } catch (error) {
    if (isScriptMissing(error)) return together("eval", lua)
    // A cluster's pipeline follows no redirection by itself when only one of its commands was redirected.
    if (isSlotMoved(error) && isCluster(client)) {
      await new Promise<void>((resolve) => client.refreshSlotsCache(() => resolve()))
    }
    throw error
  }
}
