/**
 * Runs tests of the packages, and the store contract, against the built `tollgate`: `check:packages` calls it.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@tollgate\/core$/, replacement: "tollgate" },
      { find: /^@tollgate\/core\/client$/, replacement: "tollgate/client" },
      {
        find: /^@tollgate\/(console|decisions|deployments|express|fastify|fetch|koa|memory|node|portal|sqlite|tokens|webhooks)((?:\/client)?)$/,
        replacement: "tollgate/$1$2"
      }
    ]
  },
  test: {
    include: [
      "packages/tollgate/built/*.test.ts",
      ...["handles", "toNodeHandler"].map((name) => `packages/node/test/${name}.test.ts`),
      "packages/fastify/test/tollgate.test.ts"
    ],
    testTimeout: 120_000
  }
})
