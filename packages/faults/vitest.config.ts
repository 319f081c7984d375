import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Fault tests kill servers, fill disks and saturate the machine: they run apart from the other tests, one file at a time.
const source = { conditions: ["@tollgate/source"] }

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: source,
  ssr: { resolve: source },
  test: {
    name: "faults",
    include: ["packages/faults/test/*.test.ts"],
    globalSetup: ["packages/testing/setup/redis.ts", "packages/testing/setup/postgres.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } }
  }
})
