/**
 * Runs one scenario and sends its rows to the parent process.
 */
import { scenarios, type Task } from "./scenarios.ts"

process.once("message", async ({ index, task }: { readonly index: number; readonly task: Task }) => {
  const rows = [(await scenarios[index]?.(task)) ?? []].flat()
  process.send?.(rows, () => process.exit())
})
