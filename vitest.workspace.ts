/**
 * The tests, apart from the fault tests, which have a configuration of their own.
 *
 * Each package and each example is a project. Service tests, the files with `describe.each(stores)`, run on memory and
 * SQLite there, and once more on Redis and PostgreSQL in the project `stores-services`. The files in `test/stores` of the
 * adapters run only in the projects `stores-…`: further clients, proxies and versions of the servers. Those
 * in `test/docs` run only in the project `docs`: the site of the documentation, its pictures, examples in comments.
 */
import { globSync, readdirSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import type { StoreName } from "./packages/testing/src/selectedStores.ts"

// Tests run on the sources, without a build.
const source = { conditions: ["@tollgate/source"] }
const setup = (name: string) => `packages/testing/setup/${name}.ts`

/** What the tests of a package need: a browser for the API reference, the console, the portal and the documentation, or a server. */
const projectSetups: Readonly<Record<string, ReadonlyArray<string>>> = {
  console: [setup("chromium")],
  portal: [setup("chromium")],
  tools: [setup("chromium")],
  postgres: [setup("postgresServer")]
}

/** The files that run once for each store that is selected. */
const findServiceTests = (): Array<string> =>
  globSync("{packages,examples}/*/test/**/*.test.ts").filter(
    (file) =>
      !file.startsWith("packages/faults/") && /\.each\(stores|inject\("stores"\)/.test(readFileSync(file, "utf8"))
  )

const selectedStores = (process.env["TEST_STORES"]?.split(",") ?? ["memory", "SQLite"]) as ReadonlyArray<StoreName>

const packageProjects = ["packages", "examples"].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, import.meta.url))
    .filter((name) => name !== "faults")
    .map((name) => ({
      extends: true as const,
      test: {
        // A package and an example may have the same folder name.
        name: folder === "examples" ? `example-${name}` : name,
        include: [`${folder}/${name}/test/**/*.test.ts`],
        exclude: ["packages/*/test/stores/**", "packages/*/test/docs/**"],
        // Not in the options of all projects: a list there is joined with the list of a project.
        provide: { stores: selectedStores },
        globalSetup: folder === "packages" ? (projectSetups[name] ?? []) : []
      }
    }))
)

const storeProjects = [
  {
    extends: true as const,
    test: {
      name: "stores-services",
      include: findServiceTests(),
      provide: { stores: ["Redis", "Postgres"] satisfies ReadonlyArray<StoreName> },
      globalSetup: [setup("redisServer"), setup("postgresServer")]
    }
  },
  ...["redis", "postgres", "tools"].map((name) => ({
    extends: true as const,
    test: { name: `stores-${name}`, include: [`packages/${name}/test/stores/*.test.ts`] }
  }))
]

const docsProject = {
  extends: true as const,
  test: { name: "docs", include: ["packages/*/test/docs/*.test.ts"], globalSetup: [setup("chromium")] }
}

export default defineConfig({
  resolve: source,
  ssr: { resolve: source },
  test: {
    // Many tests wait for servers, browsers and child processes, so use more workers than there are cores.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    isolate: false,
    // Generous, because test machines are shared; a test that hangs still ends.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [...packageProjects, ...storeProjects, docsProject],
    globalSetup: [setup("redis"), setup("postgres"), setup("sourceBundle")]
  }
})
