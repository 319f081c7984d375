/**
 * Runs a script with EVALSHA, and with EVAL when the server does not have it cached.
 */
import type { Cluster, Redis } from "ioredis"
import { isScriptMissing, isSlotMoved, TooFewReplicas } from "./classifyError.ts"
import type { Script } from "./scripts.ts"
import { isCluster } from "./source.ts"

type Arguments = ReadonlyArray<string | number>

export const runScript = async (
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

/** Runs a script, then waits on the same connection (WAIT) until enough replicas have its writes. */
export const runScriptAndWait = async (
  client: Redis | Cluster,
  { lua, sha }: Script,
  keys: ReadonlyArray<string>,
  args: Arguments,
  { count, timeout }: { readonly count: number; readonly timeout: number }
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...args]
  const runWithWait = async (command: "evalsha" | "eval", script: string) => {
    const pipeline = client.pipeline()
    pipeline.call(command, [script, ...rest])
    pipeline.call("wait", [count, timeout])
    const [scriptReply, waitReply] = (await pipeline.exec()) ?? []
    const failure = scriptReply?.[0] ?? waitReply?.[0]
    if (failure !== null && failure !== undefined) throw failure
    if (Number(waitReply?.[1]) < count)
      throw new TooFewReplicas(`${waitReply?.[1]} of ${count} replicas confirmed the write`)
    return scriptReply?.[1]
  }
  try {
    return await runWithWait("evalsha", sha)
  } catch (error) {
    if (isScriptMissing(error)) return runWithWait("eval", lua)
    // ioredis does not follow a redirection in a cluster pipeline when only one command was redirected.
    if (isSlotMoved(error) && isCluster(client)) {
      await new Promise<void>((resolve) => client.refreshSlotsCache(() => resolve()))
    }
    throw error
  }
}
