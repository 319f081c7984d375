/**
 * Does one of the works, and tells what came of it.
 */
import { scenarios, type Task } from "./scenarios.ts"

process.once("message", async ({ index, task }: { readonly index: number; readonly task: Task }) => {
  const rows = [(await scenarios[index]?.(task)) ?? []].flat()
  process.send?.(rows, () => process.exit())
})
