/**
 * Where redis-server is: on the PATH, or installed now where that can be done, or clearly asked for.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

const onPath = (program: string): string | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

const canInstall = (): boolean => process.getuid?.() === 0 && onPath("apt-get") !== undefined

const install = (): void => {
  console.log("redis-server is not installed; installing Debian's package of that name for the tests")
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  for (const step of [["update"], ["install", "--yes", "--no-install-recommends", "redis-server"]]) {
    execFileSync("apt-get", step, { env: environment, stdio: ["ignore", "ignore", "inherit"] })
  }
}

/** The path of redis-server, if it is there. */
export const redisBinary = (): string | undefined => onPath("redis-server")

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
  if (canInstall()) install()
  if (redisBinary() === undefined) {
    throw new Error(
      "The tests need a real Redis: install redis-server (Debian: sudo apt-get install redis-server; macOS: brew install redis), or set REDIS_URL"
    )
  }
  spawnSync("redis-server", ["--version"], { stdio: "inherit" })
}
