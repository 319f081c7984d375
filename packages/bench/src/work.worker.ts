/**
 * Does one of the works, and tells what came of it.
 */
import { type Task, works } from "./works.ts"

process.once("message", async ({ index, task }: { readonly index: number; readonly task: Task }) => {
  const rows = [(await works[index]?.(task)) ?? []].flat()
  process.send?.(rows, () => process.exit())
})
