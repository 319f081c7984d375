/**
 * The SQL of names and ids in the tables (`tables.ts`).
 */

/** The number of records in one row of the postings. */
export const chunkSize = 1_024

/** The name that a name of the partition `partition_id` has in the tables. */
export const scoped = (name: string, partitionId = "partition_id"): string => `(${partitionId}::text || ':' || ${name})`

/** The id of the record with this number. */
export const recordId = (number: string): string => scoped(`lpad(to_hex(${number}), 13, '0')`)

/** Whether a name or an id belongs to the partition. A semicolon is the character after a colon. */
export const inPartition = (column: string, partitionId = "partition_id"): string =>
  `${column} >= ${partitionId}::text || ':' AND ${column} < ${partitionId}::text || ';'`

/**
 * The rows of a table for each row before it in the FROM clause. The subquery cannot be reordered, so PostgreSQL looks
 * them up in the index, whatever its statistics are. Compare an expiry outside of it: on an empty table, a plan that knows
 * both conditions may use the index on the expiry, and later read all counters for each name.
 */
export const lookUp = (table: string, alias: string, columns: string, condition: string): string =>
  `LATERAL (SELECT ${columns} FROM ${table} ${alias} WHERE ${condition} OFFSET 0) ${alias}`
