/**
 * Runs the fault tests. `npm run test:faults -- --all` runs every case instead of a sample; all other arguments are
 * passed to Vitest.
 */
import { spawnSync } from "node:child_process"

const completeFlag = "--all"
const args = process.argv.slice(2)
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "packages/faults/vitest.config.ts"]
const { status } = spawnSync(process.execPath, [...vitest, ...args.filter((arg) => arg !== completeFlag)], {
  env: { ...process.env, ...(args.includes(completeFlag) ? { FAULTS: "all" } : {}) },
  stdio: "inherit"
})
process.exitCode = status ?? 1
