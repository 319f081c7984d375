/**
 * The functions that write records, remove everything from a partition, and remove what has expired. They work on sets of
 * rows, so that a commit of ten thousand records takes a fixed number of statements.
 */
import { functionSettings } from "./commitFunction.ts"
import { chunkSize, inPartition, lookUp, recordId, scoped } from "./names.ts"

/** The bits of records, grouped by their term and their chunk. */
const toChunks = (terms: string, numbers: string): string => `(
      SELECT a.term, a.number / ${chunkSize} AS chunk, count(*) AS total,
        bit_or(set_bit(0::bit(${chunkSize}), (a.number % ${chunkSize})::integer, 1)) AS records
      FROM unnest(${terms}, ${numbers}) a (term, number) GROUP BY a.term, a.number / ${chunkSize}
    )`

export const recordFunctions = (schema: string): string => {
  const recordOf = (id: string) => lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.id = ${id}`)
  const termOf = (term: string) => lookUp(`${schema}.tollgate_terms`, "t", "t.id", `t.term = ${scoped(term)}`)
  /** Deletes the rows that a query locks or finds, by their place: without a join that could be planned in another way. */
  const deleteFrom = (table: string, query: string) =>
    `DELETE FROM ${schema}.${table} d WHERE d.ctid = ANY (ARRAY(${query}))`
  const findInPartition = (table: string, column: string) =>
    `SELECT v.ctid FROM ${schema}.${table} v WHERE ${inPartition(`v.${column}`)} LIMIT batch_size`
  const lockExpired = (table: string) =>
    `SELECT e.ctid FROM ${schema}.${table} e WHERE e.expires <= now_millis
    ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED`
  return `
-- Puts and deletes records. The arguments are the keys of the records as in the table, the position of each put in puts
-- (NULL for a delete), and the version of each put. The caller has locked the partition and keeps the result, the number
-- of the record that was created last.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_write_records(
  partition_id bigint,
  last_record_number bigint,
  keys text[],
  put_positions bigint[],
  versions bigint[],
  puts jsonb[]
) RETURNS bigint LANGUAGE plpgsql${functionSettings}
AS $function$
DECLARE
  ids text[];
  numbers bigint[];
  has_existing boolean;
  added_terms text[];
  added_numbers bigint[];
  removed_terms text[];
  removed_numbers bigint[];
  -- What no record has any more.
  emptied_terms bigint[];
  emptied_chunks bigint[];
BEGIN
  SELECT array_agg(r.id ORDER BY w.position), array_agg(r.number ORDER BY w.position), bool_or(r.id IS NOT NULL)
    INTO ids, numbers, has_existing
    FROM unnest(keys) WITH ORDINALITY w (key, position)
    LEFT JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.id, r.number", "r.key = w.key")} ON true;
  FOR position IN 1 .. cardinality(keys) LOOP
    IF ids[position] IS NULL THEN
      last_record_number := last_record_number + 1;
      numbers[position] := last_record_number;
      ids[position] := ${recordId("last_record_number")};
    END IF;
  END LOOP;

  -- Release unique keys before they are taken: one commit may move a unique key from one record to another.
  IF has_existing THEN
    DELETE FROM ${schema}.tollgate_unique_keys u WHERE u.ctid = ANY (ARRAY(
      SELECT u.ctid FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN ${recordOf("w.id")}
      CROSS JOIN unnest(r.unique_keys) k (unique_key)
      CROSS JOIN ${lookUp(`${schema}.tollgate_unique_keys`, "u", "u.ctid", `u.unique_key = ${scoped("k.unique_key")}`)}
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'uniqueKeys' ? k.unique_key
    ));
    SELECT array_agg(n.term), array_agg(r.number) INTO removed_terms, removed_numbers
      FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN ${recordOf("w.id")}
      CROSS JOIN unnest(r.terms) n (term)
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'terms' ? n.term;
  END IF;
  IF has_existing THEN
    DELETE FROM ${schema}.tollgate_search s WHERE s.ctid = ANY (ARRAY(
      SELECT s.ctid FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN ${recordOf("w.id")}
      CROSS JOIN unnest(r.search_terms) k (term)
      CROSS JOIN ${lookUp(
        `${schema}.tollgate_search`,
        "s",
        "s.ctid",
        `s.term = ${scoped("k.term")} AND s.number = r.number`
      )}
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'searchTerms' ? k.term
    ));
  END IF;
  INSERT INTO ${schema}.tollgate_search (term, number)
    SELECT ${scoped("k.term")}, w.number
    FROM unnest(ids, numbers, put_positions) w (id, number, put)
    LEFT JOIN ${recordOf("w.id")} ON true
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'searchTerms') k (term)
    WHERE r.id IS NULL OR k.term <> ALL (r.search_terms);
  INSERT INTO ${schema}.tollgate_unique_keys (unique_key, record)
    SELECT ${scoped("k.unique_key")}, w.id
    FROM unnest(ids, put_positions) w (id, put)
    LEFT JOIN ${recordOf("w.id")} ON true
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys') k (unique_key)
    WHERE r.id IS NULL OR k.unique_key <> ALL (r.unique_keys);
  SELECT array_agg(n.term), array_agg(w.number) INTO added_terms, added_numbers
    FROM unnest(ids, numbers, put_positions) w (id, number, put)
    LEFT JOIN ${recordOf("w.id")} ON true
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'terms') n (term)
    WHERE r.id IS NULL OR n.term <> ALL (r.terms);

  IF has_existing THEN
    DELETE FROM ${schema}.tollgate_records r WHERE r.ctid = ANY (ARRAY(
      SELECT r.ctid FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.ctid", "r.id = w.id")} WHERE w.put IS NULL
    ));
  END IF;
  INSERT INTO ${schema}.tollgate_records (
      id, number, key, version, parent, terms, unique_keys, search_terms, header, body
    )
    SELECT w.id, w.number, w.key, w.version, puts[w.put] ->> 'parent',
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'terms')),
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys')),
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'searchTerms')),
      puts[w.put] ->> 'header', puts[w.put] ->> 'body'
    FROM unnest(ids, numbers, keys, put_positions, versions) w (id, number, key, put, version) WHERE w.put IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, parent = excluded.parent,
      terms = excluded.terms, unique_keys = excluded.unique_keys, search_terms = excluded.search_terms, header = excluded.header, body = excluded.body;

  IF added_terms IS NOT NULL THEN
    INSERT INTO ${schema}.tollgate_terms AS t (term, total)
      SELECT ${scoped("a.term")}, count(*) FROM unnest(added_terms) a (term) GROUP BY a.term
      ON CONFLICT (term) DO UPDATE SET total = t.total + excluded.total;
    INSERT INTO ${schema}.tollgate_postings AS p (term, chunk, records)
      SELECT t.id, c.chunk, c.records FROM ${toChunks("added_terms", "added_numbers")} c CROSS JOIN ${termOf("c.term")}
      ON CONFLICT (term, chunk) DO UPDATE SET records = p.records | excluded.records;
  END IF;
  IF removed_terms IS NOT NULL THEN
    WITH changed AS (
      INSERT INTO ${schema}.tollgate_postings AS p (term, chunk, records)
      SELECT t.id, c.chunk, c.records FROM ${toChunks("removed_terms", "removed_numbers")} c
      CROSS JOIN ${termOf("c.term")}
      ON CONFLICT (term, chunk) DO UPDATE SET records = p.records & ~excluded.records RETURNING p.*
    )
    SELECT array_agg(c.term), array_agg(c.chunk) INTO emptied_terms, emptied_chunks
      FROM changed c WHERE bit_count(c.records) = 0;
    DELETE FROM ${schema}.tollgate_postings p WHERE p.ctid = ANY (ARRAY(
      SELECT p.ctid FROM unnest(emptied_terms, emptied_chunks) e (term, chunk)
      CROSS JOIN ${lookUp(`${schema}.tollgate_postings`, "p", "p.ctid", "p.term = e.term AND p.chunk = e.chunk")}
    ));
    WITH changed AS (
      INSERT INTO ${schema}.tollgate_terms AS t (term, total)
      SELECT ${scoped("a.term")}, count(*) FROM unnest(removed_terms) a (term) GROUP BY a.term
      ON CONFLICT (term) DO UPDATE SET total = t.total - excluded.total RETURNING t.*
    )
    SELECT array_agg(c.id) INTO emptied_terms FROM changed c WHERE c.total = 0;
    DELETE FROM ${schema}.tollgate_terms t WHERE t.ctid = ANY (ARRAY(
      SELECT t.ctid FROM unnest(emptied_terms) e (id)
      CROSS JOIN ${lookUp(`${schema}.tollgate_terms`, "t", "t.ctid", "t.id = e.id")}
    ));
  END IF;
  RETURN last_record_number;
END
$function$;

-- Removes at most batch_size records, counters and replays each. Returns whether there were any.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_clear(partition_name text, batch_size integer, max_lock_wait integer) RETURNS boolean
LANGUAGE plpgsql ${functionSettings.trim()}
AS $function$
DECLARE
  partition_id bigint;
  keys text[];
  counters integer;
  replays integer;
BEGIN
  PERFORM set_config('lock_timeout', max_lock_wait::text, true);
  -- The update makes a transaction that began before, at another isolation level than the default, fail.
  UPDATE ${schema}.tollgate_partitions p SET sequence = p.sequence WHERE p.name = partition_name
    RETURNING p.id INTO partition_id;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT array_agg(r.key) INTO keys FROM (
    SELECT r.key FROM ${schema}.tollgate_records r WHERE ${inPartition("r.id")} ORDER BY r.id LIMIT batch_size
  ) r;
  IF keys IS NOT NULL THEN
    PERFORM ${schema}.tollgate_write_records(
      partition_id, 0, keys, array_fill(NULL::bigint, ARRAY[cardinality(keys)]), NULL, NULL);
  END IF;
  ${deleteFrom("tollgate_counters", findInPartition("tollgate_counters", "name"))};
  GET DIAGNOSTICS counters = ROW_COUNT;
  ${deleteFrom("tollgate_replays", findInPartition("tollgate_replays", "id"))};
  GET DIAGNOSTICS replays = ROW_COUNT;
  RETURN keys IS NOT NULL OR counters > 0 OR replays > 0;
END
$function$;

-- Removes at most batch_size expired counters, replays and writers each. Returns how many it removed. It waits for no
-- lock: what another session has locked is in use, or is being removed there.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_sweep(batch_size integer) RETURNS integer LANGUAGE plpgsql${functionSettings}
AS $function$
DECLARE
  now_millis bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  removed integer;
  total integer;
BEGIN
  ${deleteFrom("tollgate_counters", lockExpired("tollgate_counters"))};
  GET DIAGNOSTICS total = ROW_COUNT;
  ${deleteFrom("tollgate_replays", lockExpired("tollgate_replays"))};
  GET DIAGNOSTICS removed = ROW_COUNT;
  total := total + removed;
  ${deleteFrom("tollgate_writers", lockExpired("tollgate_writers"))};
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN total + removed;
END
$function$;
`
}
