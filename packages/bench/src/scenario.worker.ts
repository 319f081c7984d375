/**
 * Runs one scenario and sends its rows to the parent process.
 */
import { scenarios, type Task } from "./scenarios.ts"

process.once("message", async ({ name, task }: { readonly name: string; readonly task: Task }) => {
  const rows = [(await scenarios[name]?.(task)) ?? []].flat()
  process.send?.(rows, () => process.exit())
})
