import { ensureRedis } from "../src/redisBinary.ts"

/** Makes sure that redis-server is installed, or fails with the command that installs it. */
export default function setup(): void {
  ensureRedis()
}
