/**
 * Finds redis-server on the PATH, or installs it if possible.
 */
import { spawnSync } from "node:child_process"
import { findOnPath, installPackage } from "./programs.ts"

/** The path of redis-server, if it is installed. */
export const redisBinary = (): string | undefined => findOnPath("redis-server")

/** The URL of a running server, for machines without redis-server. */
export const externalRedisUrl = (): string | undefined => process.env["REDIS_URL"] || undefined

/** Makes sure that the tests have a Redis, or throws with instructions. */
export const ensureRedis = (): void => {
  if (redisBinary() !== undefined) return
  if (externalRedisUrl() !== undefined) {
    console.warn("redis-server is not installed: using REDIS_URL. Tests that start, stop or cluster servers will fail.")
    return
  }
  installPackage("redis-server")
  if (redisBinary() === undefined) {
    throw new Error(
      "The tests need Redis: install redis-server (Debian: sudo apt-get install redis-server; macOS: brew install redis), or set REDIS_URL"
    )
  }
  spawnSync("redis-server", ["--version"], { stdio: "inherit" })
}
