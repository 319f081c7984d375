import { readdirSync } from "node:fs"
import { defineConfig } from "vitest/config"

// Tests run on the sources: no build comes before them.
const source = { conditions: ["source"] }

const projects = ["packages", "examples"].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, import.meta.url)).map((name) => ({
    extends: true as const,
    test: {
      name,
      include: [`${folder}/${name}/test/**/*.test.ts`],
      // Only the tests of the documentation page need a browser.
      ...(name === "express" ? { globalSetup: "vitest.chromium.ts" } : {})
    }
  }))
)
const readme = { extends: true as const, test: { name: "readme", include: ["test/*.test.ts"] } }

export default defineConfig({
  resolve: source,
  ssr: { resolve: source },
  test: {
    // Generous: the machines that tests run on are shared, and a test that hangs still ends.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [...projects, readme],
    globalSetup: "vitest.setup.ts"
  }
})
