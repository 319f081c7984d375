/**
 * Runs the tests on every supported version of Node, one after the other. It installs Node from the npm registry and
 * caches it below `node_modules`.
 *
 * `npm run test:nodes -- --only-node-facing` runs only the tests that depend on Node itself, and not on the release that
 * `npm test` uses; all other arguments are passed to Vitest.
 */
import { spawnSync } from "node:child_process"
import { canInstallNodes, ensureNode, type SupportedNode, supportedNodes } from "./nodes.ts"

/** The bindings, SQLite with its native code, the examples, and of the clients of servers that they connect. */
const nodeFacingTests = [
  ...["node", "express", "fastify", "fetch", "sqlite"].map((name) => `packages/${name}/`),
  ...["postgres", "redis"].map((name) => `packages/${name}/test/opening`),
  "examples/"
]

/** Runs the tests on one version of Node and returns a summary line. */
const runTests = (node: SupportedNode, options: ReadonlyArray<string>): { isPassed: boolean; line: string } => {
  const { version, env } = ensureNode(node)
  if (isOnlyNodeFacing && version === process.version) {
    return { isPassed: true, line: `Node ${version}: npm test uses it` }
  }
  console.log(`\nTesting on Node ${version}`)
  const start = performance.now()
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config",
    "vitest.workspace.ts",
    "--project",
    "!stores-*",
    "--project",
    "!docs"
  ]
  const { status } = spawnSync("node", [...vitest, ...options], { env, stdio: "inherit" })
  const seconds = Math.round((performance.now() - start) / 1000)
  return { isPassed: status === 0, line: `Node ${version}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s` }
}

const nodeFacingFlag = "--only-node-facing"
const args = process.argv.slice(2)
const isOnlyNodeFacing = args.includes(nodeFacingFlag)
const options = args.filter((option) => option !== nodeFacingFlag)
if (isOnlyNodeFacing) options.push(...nodeFacingTests)

if (!canInstallNodes) {
  console.error(
    "test:nodes supports only Linux x64 and arm64. On other systems, run `npm test` on Node 22.19, 24 and 26."
  )
  process.exitCode = 1
} else {
  const results = supportedNodes.map((node) => runTests(node, options))
  console.log(`\n${results.map(({ line }) => line).join("\n")}`)
  process.exitCode = results.every(({ isPassed }) => isPassed) ? 0 : 1
}
