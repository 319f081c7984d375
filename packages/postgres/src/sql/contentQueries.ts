/**
 * The queries that read and write everything in a partition, whose id is their first parameter.
 */
import { scoped } from "./commitFunction.ts"

const partition = "$1::bigint"

/** Keeps the rows of a page until their size, without that of the last row, reaches the third parameter. */
const limitSize = (columns: string, size: string, order: string, page: string): string => `
  SELECT ${columns} FROM (
    SELECT ${columns}, sum(${size}) OVER (ORDER BY ${order}) - ${size} AS size_before FROM (${page}) AS page
  ) AS measured WHERE size_before < $3 ORDER BY ${order}`

/** The SQL of whether a row is in the partition, and on the page after the name in the fourth parameter. */
const onPage = (column: string, isAfter: boolean): string => `
  ${column} ${isAfter ? "> $4" : `>= ${partition} || ':'`} AND ${column} < ${partition} || ';'
  AND expires > (extract(epoch FROM statement_timestamp()) * 1000)::bigint
  ORDER BY ${column} LIMIT $2`

export const makeContentQueries = (schema: string) => ({
  partitions: `SELECT id, name, long_name FROM ${schema}.tollgate_partitions WHERE id > $1 ORDER BY id LIMIT $2`,
  partition: `SELECT id, sequence FROM ${schema}.tollgate_partitions WHERE name = $1`,

  records: (isAfter: boolean) =>
    limitSize(
      "id, version, header, body",
      "(octet_length(header) + octet_length(body))",
      "id",
      `SELECT id, version, header, body FROM ${schema}.tollgate_records
       WHERE partition = ${partition} ${isAfter ? "AND id > $4" : ""} ORDER BY id LIMIT $2`
    ),
  counters: (isAfter: boolean) =>
    limitSize(
      "name, long_name, value, expires",
      "coalesce(octet_length(long_name), octet_length(name))",
      "name",
      `SELECT name, long_name, value, expires FROM ${schema}.tollgate_counters WHERE ${onPage("name", isAfter)}`
    ),
  replays: (isAfter: boolean) =>
    limitSize(
      "id, content, numbers, expires",
      "octet_length(content)",
      "id",
      `SELECT id, content, numbers, expires FROM ${schema}.tollgate_replays WHERE ${onPage("id", isAfter)}`
    ),

  raiseSequence: `
    INSERT INTO ${schema}.tollgate_partitions AS p (name, long_name, sequence) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET sequence = greatest(p.sequence, excluded.sequence) RETURNING id`,

  writeRecords: `
    WITH records AS (
      INSERT INTO ${schema}.tollgate_records (id, partition, key, version, parent, terms, unique_keys, header, body)
      SELECT nextval('${schema}.tollgate_record_ids'), ${partition}, ${scoped("i.key", partition)}, i.version, i.parent,
        i.terms, i.unique_keys, i.header, i.body
      FROM ROWS FROM (jsonb_to_recordset($2) AS (
        key text, version bigint, parent text, terms text[], "uniqueKeys" text[], header text, body text
      )) i (key, version, parent, terms, unique_keys, header, body)
      ON CONFLICT (key) DO NOTHING RETURNING id, terms, unique_keys
    ), unique_keys AS (
      INSERT INTO ${schema}.tollgate_unique_keys (unique_key, record)
      SELECT ${scoped("k.unique_key", partition)}, r.id FROM records r CROSS JOIN unnest(r.unique_keys) k (unique_key)
    ), terms AS (
      INSERT INTO ${schema}.tollgate_terms AS t (term, total)
      SELECT ${scoped("n.term", partition)}, count(*) FROM records r CROSS JOIN unnest(r.terms) n (term) GROUP BY n.term
      ON CONFLICT (term) DO UPDATE SET total = t.total + excluded.total RETURNING id, term
    )
    INSERT INTO ${schema}.tollgate_postings (term, record)
    SELECT t.id, r.id FROM records r CROSS JOIN unnest(r.terms) n (term)
    JOIN terms t ON t.term = ${scoped("n.term", partition)}`,

  writeCounters: `
    INSERT INTO ${schema}.tollgate_counters (name, long_name, value, expires)
    SELECT ${scoped("c.name", partition)}, c."longName", c.value, c.expires
    FROM jsonb_to_recordset($2) AS c (name text, "longName" text, value bigint, expires bigint)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires`,

  writeReplays: `
    INSERT INTO ${schema}.tollgate_replays (id, content, numbers, expires)
    SELECT ${scoped("r.id", partition)}, r.content, r.numbers, r.expires
    FROM jsonb_to_recordset($2) AS r (id text, content text, numbers bigint[], expires bigint)
    ON CONFLICT (id) DO UPDATE SET content = excluded.content, numbers = excluded.numbers, expires = excluded.expires`
})
