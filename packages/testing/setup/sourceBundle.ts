import type { TestProject } from "vitest/node"
import { bundleVariable } from "../src/childProcesses.ts"
import { buildSources } from "../src/sourceBundle.ts"

/** Bundles the sources for the child processes of the tests, again before each run of watch mode. */
export default async function setup(project: TestProject): Promise<() => void> {
  const { register, rebuild, remove } = await buildSources()
  process.env[bundleVariable] = register
  project.onTestsRerun(rebuild)
  return remove
}
