import { Schema } from "effect"
import { addHidden, defineError } from "../errors/defineError.ts"

const Reason = Schema.Literals(["same-store", "target-not-empty", "interrupted", "contents-differ"])

/** How to empty a store. A copy starts only on an empty one. */
const howToEmpty =
  "empty the target: delete the file of SQLite with its -wal and -shm files, drop the schema of PostgreSQL with " +
  "DROP SCHEMA … CASCADE, or delete the keys of Redis that begin with the prefix. If a database has tables of your own, drop " +
  "only the tables and functions named tollgate_…"

const remedies: Readonly<Record<typeof Reason.Type, string>> = {
  "same-store": "Pass another store as the target",
  "target-not-empty": `Check that it is the right one. If it has the rest of an interrupted copy, ${howToEmpty}`,
  interrupted: `To copy again, ${howToEmpty}`,
  "contents-differ": `Stop all servers that use the source. To copy again, ${howToEmpty}`
}

/**
 * The store was not copied.
 *
 * - `same-store`: source and target are one store; nothing was changed
 * - `target-not-empty`: nothing was changed
 * - `interrupted`: one of the stores failed; the target has a part of the contents
 * - `contents-differ`: the check found a difference, for example because a server wrote to the source meanwhile
 */
export class StoreCopyError extends defineError<StoreCopyError>()(
  "StoreCopyError",
  {
    code: "store-copy",
    status: 500,
    title: "Store cannot be copied",
    meaning: "The contents of a store were not copied into another. `reason` says why.",
    remedy:
      "For `same-store`, pass another target. Otherwise stop the servers that use the source, empty the target and " +
      "copy again. `detail` says how to empty it.",
    isSentOverHttp: false,
    detail: ({ problem, reason }) => `Cannot copy the store: ${problem}. ${remedies[reason]}.`
  },
  {
    reason: Reason.annotate({ description: "Why the copy failed." }),
    problem: Schema.String.annotate({ description: "What failed." })
  }
) {
  constructor(members: {
    readonly reason: typeof Reason.Type
    readonly problem: string
    readonly cause?: unknown
  }) {
    const { cause, ...rest } = members
    super(rest)
    addHidden(this, { cause })
  }
}
