/**
 * Where redis-server is: on the PATH, or installed now where that can be done, or clearly asked for.
 */
import { spawnSync } from "node:child_process"
import { findOnPath, installPackage } from "./programs.ts"

/** The path of redis-server, if it is there. */
export const redisBinary = (): string | undefined => findOnPath("redis-server")

/** The address of a server that somebody else runs, for machines without redis-server. */
export const givenRedisUrl = (): string | undefined => process.env["REDIS_URL"] || undefined

/** Sees to it that there is a Redis to test with, or fails with one line that says what to do. */
export const ensureRedis = (): void => {
  if (redisBinary() !== undefined) return
  if (givenRedisUrl() !== undefined) {
    console.warn(
      "redis-server is not installed: using REDIS_URL; tests that start, stop or cluster servers fail and say so"
    )
    return
  }
  installPackage("redis-server")
  if (redisBinary() === undefined) {
    throw new Error(
      "The tests need a real Redis: install redis-server (Debian: sudo apt-get install redis-server; macOS: brew install redis), or set REDIS_URL"
    )
  }
  spawnSync("redis-server", ["--version"], { stdio: "inherit" })
}
