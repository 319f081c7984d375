import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = { conditions: ["@tollgate/source"] }

/**
 * These kill servers, fill disks, saturate the machine or have a bound in time: they run one file at a time, after the
 * others.
 */
const alone = [
  "clients",
  "contention",
  "crashes",
  "eventKills",
  "fullDisk",
  "hostileArchives",
  "hostileLoad",
  "kills",
  "large",
  "leaks",
  "manyKeysKills",
  "mixedLoad",
  "postgresKills",
  "rateLimits",
  "rollbackKills",
  "soak",
  "usageContention",
  "usageKills",
  "webhookKills",
  "webhooks"
].map((name) => `packages/faults/test/${name}.test.ts`)

// Fault tests take long and saturate the machine: they run apart from the other tests.
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: source,
  ssr: { resolve: source },
  test: {
    globalSetup: ["redis", "postgres", "sourceBundle", "redisServer", "postgresServer"].map(
      (name) => `packages/testing/setup/${name}.ts`
    ),
    provide: { stores: ["memory", "SQLite", "Redis", "Postgres"] },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "faults",
          include: ["packages/faults/test/*.test.ts"],
          exclude: alone,
          maxWorkers: "100%",
          sequence: { groupOrder: 0 }
        }
      },
      {
        extends: true,
        test: {
          name: "faults-alone",
          include: alone,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
