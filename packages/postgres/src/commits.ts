/**
 * Sends commits. The commits to one partition that arrive while another batch of them is running are the next batch: they
 * wait in this process instead of for a lock in the database, and share its flush to disk.
 *
 * A batch is identified by its store (the writer) and a number that increases. PostgreSQL remembers the last one of each
 * partition and writer, so a batch that is sent again, because its reply was lost, is applied once.
 */
import { randomUUID } from "node:crypto"
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  type Partition,
  StoreConflict,
  StoreUnavailable
} from "@tollgate/store"
import { BatchQueue, type RetryTransient, type StoreActivity } from "@tollgate/store/internal"
import { Effect } from "effect"
import { type Commit, encodeBatch } from "./CommitBatch.ts"
import { rejectedValue, withoutData } from "./classifyError.ts"
import type { Database } from "./Database.ts"
import { decodeOutcomes } from "./decodeOutcomes.ts"
import { makeExpiry } from "./makeExpiry.ts"

/** Bounds the time for which a batch holds the lock of its partition. */
const maxBatchWeight = 400

const countCharacters = (texts: ReadonlyArray<string | undefined>): number =>
  texts.reduce((count, text = "") => count + text.length, 0)

/** A record takes longer than a counter or a check, and a large one still longer. */
const weighChange = (change: Change): number => {
  if (change._tag === "Delete") return 5
  if (change._tag !== "Put") return 1
  const { body, indexTerms, uniqueKeys, searchTerms = [] } = change
  return 5 + countCharacters([body, ...indexTerms, ...uniqueKeys, ...searchTerms]) / 1_000
}

const weighCommit = ({ changes, idempotency }: Commit): number =>
  changes.reduce((weight, change) => weight + weighChange(change), 0) +
  countCharacters([idempotency?.id, idempotency?.fingerprint, idempotency?.result]) / 1_000

type Result = Effect.Effect<CommitResult, StoreConflict | StoreUnavailable>

const toEncodingError = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable({
    operation: "commit",
    problem: rejectedValue,
    retryable: false,
    outcome: "not-applied",
    cause: withoutData(cause)
  })

export const makeCommit = (
  database: Database,
  schema: string,
  retryTransient: RetryTransient,
  activity: StoreActivity,
  onCommit: () => void
) => {
  const writer = randomUUID()
  let lastBatch = 0
  const placeholders = Array.from({ length: 14 }, (_, index) => `$${index + 1}`).join(", ")
  const sql = `SELECT * FROM ${schema}.tollgate_commit(${placeholders})`

  const send = (
    partition: Partition.Partition,
    commits: ReadonlyArray<Commit>
  ): Effect.Effect<ReadonlyArray<Result>, StoreUnavailable> =>
    Effect.flatMap(
      Effect.try({ try: () => encodeBatch(partition, commits), catch: toEncodingError }),
      ({ partitionName, time, changes }) => {
        const batch = ++lastBatch
        let attempts = 0
        return retryTransient("commit", async () => {
          const isRetry = attempts++ > 0
          const values = [partitionName, writer, batch, time, database.maxLockWait, isRetry, ...changes]
          const [row] = await database.query(sql, values)
          onCommit()
          const results = decodeOutcomes(
            row,
            commits.map(({ changes }) => changes)
          )
          return results.map((result) =>
            result instanceof StoreConflict ? Effect.fail(result) : Effect.succeed(result)
          )
        })
      }
    )

  /** One commit with a value that PostgreSQL rejects must not fail the others in its batch: sends each on its own. */
  const sendBatch = (partition: Partition.Partition, commits: ReadonlyArray<Commit>) =>
    Effect.catchIf(
      send(partition, commits),
      ({ problem }) => commits.length > 1 && problem === rejectedValue,
      () =>
        Effect.map(
          Effect.forEach(commits, (commit) =>
            Effect.match(send(partition, [commit]), {
              onFailure: (error): ReadonlyArray<Result> => [Effect.fail(error)],
              onSuccess: (results) => results
            })
          ),
          (results) => results.flat()
        )
    )

  const queue = new BatchQueue(sendBatch, {
    activity,
    maxBatchWeight,
    maxRunningBatches: 1,
    weigh: weighCommit,
    expiry: makeExpiry("commit", database)
  })

  return (
    partition: Partition.Partition,
    changes: ReadonlyArray<Change>,
    idempotency?: IdempotencyRecord,
    time?: number
  ): Result => Effect.flatten(queue.add(partition, { changes, idempotency, time }))
}
