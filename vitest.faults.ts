import { defineConfig } from "vitest/config"

// What must survive, tried for real: apart from the other tests, since it kills, fills and floods what it runs on.
const source = { conditions: ["source"] }

export default defineConfig({
  resolve: source,
  ssr: { resolve: source },
  test: {
    name: "faults",
    include: ["test/faults/*.test.ts"],
    globalSetup: "vitest.setup.ts",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
