import { type SpawnSyncOptions, spawnSync } from "node:child_process"

/** Prints whether a check passed; if it did not, prints its output and makes this process exit with 1. */
export const reportCheck = (label: string, hasPassed: boolean, output: string): void => {
  console.log(`${hasPassed ? "passed" : "FAILED"} ${label}`)
  if (hasPassed) return
  console.error(output)
  process.exitCode = 1
}

/** Runs a program, which passes if it exits with 0. */
export const runCheck = (
  label: string,
  program: string,
  parameters: ReadonlyArray<string>,
  options: Pick<SpawnSyncOptions, "cwd" | "env"> = {}
): void => {
  const { status, stdout, stderr, error } = spawnSync(program, parameters, { ...options, encoding: "utf8" })
  reportCheck(label, status === 0, `${error?.message ?? ""}${stdout ?? ""}${stderr ?? ""}`)
}
