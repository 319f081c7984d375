/**
 * The queries that read and write everything in a partition, whose id is their first parameter.
 */
import { inPartition, scoped } from "./names.ts"

const partition = "$1::bigint"

/** Keeps the rows of a page until their size, without that of the last row, reaches the third parameter. */
const limitSize = (columns: string, size: string, order: string, page: string): string => `
  SELECT ${columns} FROM (
    SELECT ${columns}, sum(${size}) OVER (ORDER BY ${order}) - ${size} AS size_before FROM (${page}) AS page
  ) AS measured WHERE size_before < $3 ORDER BY ${order}`

/** The SQL of whether a row is in the partition, and on the page after the name in the fourth parameter. */
const onPage = (column: string, isAfter: boolean): string =>
  `${inPartition(column, partition)} ${isAfter ? `AND ${column} > $4` : ""}`

const notExpired = "expires > (extract(epoch FROM statement_timestamp()) * 1000)::bigint"

export const makeContentQueries = (schema: string) => ({
  partitions: `SELECT id, name, original_name FROM ${schema}.tollgate_partitions WHERE id > $1 ORDER BY id LIMIT $2`,
  partition: `SELECT id, sequence FROM ${schema}.tollgate_partitions WHERE name = $1`,

  records: (isAfter: boolean) =>
    limitSize(
      "id, version, header, body",
      "(octet_length(header) + octet_length(body))",
      "id",
      `SELECT id, version, header, body FROM ${schema}.tollgate_records
       WHERE ${onPage("id", isAfter)} ORDER BY id LIMIT $2`
    ),
  counters: (isAfter: boolean) =>
    limitSize(
      "name, original_name, value, expires",
      "coalesce(octet_length(original_name), octet_length(name))",
      "name",
      `SELECT name, original_name, value, expires FROM ${schema}.tollgate_counters
       WHERE ${onPage("name", isAfter)} AND ${notExpired} ORDER BY name LIMIT $2`
    ),
  replays: (isAfter: boolean) =>
    limitSize(
      "id, content, numbers, expires",
      "octet_length(content)",
      "id",
      `SELECT id, content, numbers, expires FROM ${schema}.tollgate_replays
       WHERE ${onPage("id", isAfter)} AND ${notExpired} ORDER BY id LIMIT $2`
    ),

  raiseSequence: `
    INSERT INTO ${schema}.tollgate_partitions AS p (name, original_name, sequence) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET sequence = greatest(p.sequence, excluded.sequence) RETURNING id`,

  // Leaves out the records that are there: writing an entry again changes nothing.
  writeRecords: `
    UPDATE ${schema}.tollgate_partitions p SET last_record_number = ${schema}.tollgate_write_records(
      p.id, p.last_record_number, n.keys, n.positions, n.versions, n.puts
    ) FROM (
      SELECT array_agg(e.key ORDER BY e.position) AS keys, array_agg(e.number ORDER BY e.position) AS positions,
        array_agg(e.version ORDER BY e.position) AS versions, array_agg(e.record ORDER BY e.position) AS puts
      FROM (
        SELECT e.record, e.position, row_number() OVER (ORDER BY e.position) AS number,
          ${scoped("(e.record ->> 'key')", partition)} AS key, (e.record ->> 'version')::bigint AS version
        FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY e (record, position)
        WHERE NOT EXISTS (
          SELECT FROM ${schema}.tollgate_records r WHERE r.key = ${scoped("(e.record ->> 'key')", partition)}
        )
      ) e
    ) n WHERE p.id = ${partition} AND n.keys IS NOT NULL`,

  writeCounters: `
    INSERT INTO ${schema}.tollgate_counters (name, original_name, value, expires)
    SELECT ${scoped('c."indexName"', partition)}, c."originalName", c.value, c.expires
    FROM jsonb_to_recordset($2::jsonb) AS c ("indexName" text, "originalName" text, value bigint, expires bigint)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires`,

  writeReplays: `
    INSERT INTO ${schema}.tollgate_replays (id, content, numbers, expires)
    SELECT ${scoped("r.id", partition)}, r.content, r.numbers, r.expires
    FROM jsonb_to_recordset($2::jsonb) AS r (id text, content text, numbers bigint[], expires bigint)
    ON CONFLICT (id) DO UPDATE SET content = excluded.content, numbers = excluded.numbers, expires = excluded.expires`
})
