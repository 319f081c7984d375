import { readdirSync } from "node:fs"
import { defineConfig } from "vitest/config"

// Tests run on the sources, without a build.
const source = { conditions: ["@tollgate/source"] }

const projects = ["packages", "examples"].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, import.meta.url))
    // Fault tests have a configuration and a command of their own.
    .filter((name) => name !== "faults")
    .map((name) => ({
      extends: true as const,
      test: {
        // A package and an example may have the same folder name.
        name: folder === "examples" ? `example-${name}` : name,
        include: [`${folder}/${name}/test/**/*.test.ts`],
        // The tests of the API reference, of the console and of the documentation use a browser.
        ...(folder === "packages" && ["express", "console", "tools"].includes(name)
          ? { globalSetup: "packages/testing/setup/chromium.ts" }
          : {})
      }
    }))
)

export default defineConfig({
  resolve: source,
  ssr: { resolve: source },
  test: {
    // Many tests wait for servers and child processes, so use all cores.
    maxWorkers: "100%",
    // Generous, because test machines are shared; a test that hangs still ends.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 30_000 } },
    projects,
    globalSetup: ["packages/testing/setup/redis.ts", "packages/testing/setup/postgres.ts"]
  }
})
