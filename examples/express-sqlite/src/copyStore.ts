/**
 * `npm run copy-store -- FROM TO`: copies everything from one store into another, empty one, and checks the copy. The
 * stores are named as in TOLLGATE_STORE. Stop the server first.
 */
import { existsSync } from "node:fs"
import { type CopyProgress, copyStore } from "tollgate/copy"
import { getSqlitePath, isStore, openStore, storeForms } from "./openStore.ts"

/** Prints a line after this many records. */
const recordsPerLine = 5_000

const format = (count: number, noun: string): string => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`

const makeReporter = () => {
  let nextLine = recordsPerLine
  let currentPhase: CopyProgress["phase"] = "copy"
  return ({ phase, records, partitions, totalPartitions }: CopyProgress): void => {
    if (phase !== currentPhase) {
      currentPhase = phase
      nextLine = recordsPerLine
    }
    if (records < nextLine) return
    nextLine = records - (records % recordsPerLine) + recordsPerLine
    const verb = phase === "copy" ? "Copied" : "Checked"
    console.log(`${verb} ${format(records, "record")}, ${partitions} of ${format(totalPartitions, "partition")}`)
  }
}

const parseStores = ([from, to, ...rest]: ReadonlyArray<string>): readonly [from: string, to: string] => {
  if (from === undefined || to === undefined || rest.length > 0) {
    throw new Error(
      "Usage: npm run copy-store -- FROM TO, as in: npm run copy-store -- sqlite:data/tollgate.db postgres://localhost/app"
    )
  }
  for (const [name, store] of [
    ["FROM", from],
    ["TO", to]
  ] as const) {
    // The value may contain a password, so the error does not repeat it.
    if (!isStore(store)) throw new Error(`${name} must be ${storeForms}`)
    if (store === "memory:") throw new Error(`${name} is "memory:", which exists only in the process of a server`)
  }
  if (from === to) throw new Error("FROM and TO are the same store")
  const path = getSqlitePath(from)
  // To open it would create it.
  if (path !== undefined && !existsSync(path)) throw new Error(`There is no SQLite database ${path}`)
  return [from, to]
}

const copy = async (fromName: string, toName: string): Promise<void> => {
  const from = await openStore(fromName)
  try {
    const to = await openStore(toName)
    try {
      const { partitions, records, counters, replays, hash } = await copyStore(from, to, { onProgress: makeReporter() })
      if (partitions === 0) throw new Error("FROM is empty: there is nothing to copy")
      const counts = [
        format(records, "record"),
        format(counters, "counter"),
        format(replays, "recorded response"),
        format(partitions, "partition")
      ]
      console.log(`Copied and checked ${counts.join(", ")}`)
      console.log(`Hash of the contents: ${hash}`)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

try {
  await copy(...parseStores(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
