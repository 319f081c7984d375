/**
 * The functions that write the records of one commit, and that remove everything from a partition. Both work on sets of
 * rows, so that a commit of ten thousand records takes a fixed number of statements. Their callers have locked the
 * partition.
 */
import { kinds, planSettings, scoped } from "./commitFunction.ts"

/** The SQL of whether a name belongs to the partition `partition_id`. A semicolon is the character after a colon. */
const inPartition = (column: string): string => `${column} >= partition_id || ':' AND ${column} < partition_id || ';'`

export const recordFunctions = (schema: string): string => `
-- Puts and deletes the records of the changes from first_change to last_change. The puts get the versions after
-- last_version. For the other arguments, see tollgate_commit.
CREATE FUNCTION ${schema}.tollgate_write_records(
  partition_id bigint,
  last_version bigint,
  record_keys text[],
  changes bigint[],
  first_change integer,
  last_change integer,
  puts jsonb[]
) RETURNS void LANGUAGE plpgsql${planSettings}
AS $function$
DECLARE
  -- The records that are put or deleted: their keys, ids, puts and new versions. A delete has no put.
  keys text[];
  ids bigint[];
  put_numbers bigint[];
  versions bigint[];
  has_existing boolean;
  added_terms text[];
  added_to bigint[];
  removed_terms bigint[];
  removed_from bigint[];
BEGIN
  SELECT array_agg(w.key ORDER BY w.change), array_agg(r.id ORDER BY w.change), array_agg(w.put ORDER BY w.change),
      array_agg(w.version ORDER BY w.change), bool_or(r.id IS NOT NULL)
    INTO keys, ids, put_numbers, versions, has_existing
    FROM (
      SELECT c AS change, ${scoped("record_keys[changes[c * 5 - 3]]")} AS key,
        CASE changes[c * 5 - 4] WHEN ${kinds.put} THEN changes[c * 5 - 1] END AS put,
        last_version + count(*) FILTER (WHERE changes[c * 5 - 4] = ${kinds.put}) OVER (ORDER BY c) AS version
      FROM generate_series(first_change, last_change) c
      WHERE changes[c * 5 - 4] IN (${kinds.put}, ${kinds.delete})
    ) w
    LEFT JOIN ${schema}.tollgate_records r ON r.key = w.key;
  FOR position IN 1 .. cardinality(ids) LOOP
    IF ids[position] IS NULL THEN ids[position] := nextval('${schema}.tollgate_record_ids'); END IF;
  END LOOP;

  -- Release unique keys before they are taken: one commit may move a unique key from one record to another.
  IF has_existing THEN
    DELETE FROM ${schema}.tollgate_unique_keys u
      USING unnest(ids, put_numbers) w (id, put)
      JOIN ${schema}.tollgate_records r ON r.id = w.id
      CROSS JOIN unnest(r.unique_keys) k (unique_key)
      WHERE u.unique_key = ${scoped("k.unique_key")}
        AND (w.put IS NULL OR NOT puts[w.put] -> 'uniqueKeys' ? k.unique_key);
    SELECT array_agg(t.id), array_agg(r.id) INTO removed_terms, removed_from
      FROM unnest(ids, put_numbers) w (id, put)
      JOIN ${schema}.tollgate_records r ON r.id = w.id
      CROSS JOIN unnest(r.terms) n (term)
      JOIN ${schema}.tollgate_terms t ON t.term = ${scoped("n.term")}
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'terms' ? n.term;
  END IF;
  INSERT INTO ${schema}.tollgate_unique_keys (unique_key, record)
    SELECT ${scoped("k.unique_key")}, w.id
    FROM unnest(ids, put_numbers) w (id, put)
    LEFT JOIN ${schema}.tollgate_records r ON r.id = w.id
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys') k (unique_key)
    WHERE w.put IS NOT NULL AND (r.id IS NULL OR k.unique_key <> ALL (r.unique_keys));
  SELECT array_agg(t.term), array_agg(w.id) INTO added_terms, added_to
    FROM unnest(ids, put_numbers) w (id, put)
    LEFT JOIN ${schema}.tollgate_records r ON r.id = w.id
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'terms') t (term)
    WHERE w.put IS NOT NULL AND (r.id IS NULL OR t.term <> ALL (r.terms));

  IF has_existing THEN
    DELETE FROM ${schema}.tollgate_records r USING unnest(ids, put_numbers) w (id, put)
      WHERE w.put IS NULL AND r.id = w.id;
  END IF;
  INSERT INTO ${schema}.tollgate_records (id, partition, key, version, parent, terms, unique_keys, header, body)
    SELECT w.id, partition_id, w.key, w.version, puts[w.put] ->> 'parent',
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'terms')),
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys')),
      puts[w.put] ->> 'header', puts[w.put] ->> 'body'
    FROM unnest(ids, keys, put_numbers, versions) w (id, key, put, version) WHERE w.put IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, parent = excluded.parent,
      terms = excluded.terms, unique_keys = excluded.unique_keys, header = excluded.header, body = excluded.body;

  IF added_terms IS NOT NULL THEN
    INSERT INTO ${schema}.tollgate_terms AS t (term, total)
      SELECT ${scoped("a.term")}, count(*) FROM unnest(added_terms) a (term) GROUP BY a.term
      ON CONFLICT (term) DO UPDATE SET total = t.total + excluded.total;
    INSERT INTO ${schema}.tollgate_postings (term, record)
      SELECT t.id, a.record FROM unnest(added_terms, added_to) a (term, record)
      JOIN ${schema}.tollgate_terms t ON t.term = ${scoped("a.term")};
  END IF;
  IF removed_terms IS NOT NULL THEN
    DELETE FROM ${schema}.tollgate_postings p USING unnest(removed_terms, removed_from) a (term, record)
      WHERE p.term = a.term AND p.record = a.record;
    UPDATE ${schema}.tollgate_terms t SET total = t.total - a.total
      FROM (SELECT r.term, count(*) AS total FROM unnest(removed_terms) r (term) GROUP BY r.term) a
      WHERE t.id = a.term;
    DELETE FROM ${schema}.tollgate_terms t USING (SELECT DISTINCT r.term FROM unnest(removed_terms) r (term)) a
      WHERE t.id = a.term AND t.total = 0;
  END IF;
END
$function$;

-- Removes at most batch_size records, counters and replays each. Returns whether there were any.
CREATE FUNCTION ${schema}.tollgate_clear(partition_name text, batch_size integer) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '3s'${planSettings}
AS $function$
DECLARE
  partition_id bigint;
  keys text[];
  deletes bigint[];
  counters integer;
  replays integer;
BEGIN
  -- The update makes a transaction that began before, at another isolation level than the default, fail.
  UPDATE ${schema}.tollgate_partitions p SET sequence = p.sequence WHERE p.name = partition_name
    RETURNING p.id INTO partition_id;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT array_agg(substr(r.key, length(${scoped("''")}) + 1)) INTO keys
    FROM (SELECT r.key FROM ${schema}.tollgate_records r WHERE r.partition = partition_id ORDER BY r.id LIMIT batch_size) r;
  IF keys IS NOT NULL THEN
    SELECT array_agg(n.number ORDER BY k.position, n.position) INTO deletes
      FROM generate_series(1, cardinality(keys)) k (position)
      CROSS JOIN LATERAL unnest(ARRAY[${kinds.delete}, k.position, 0, 0, 0]) WITH ORDINALITY n (number, position);
    PERFORM ${schema}.tollgate_write_records(partition_id, 0, keys, deletes, 1, cardinality(keys), NULL);
  END IF;
  DELETE FROM ${schema}.tollgate_counters c USING (
    SELECT v.name FROM ${schema}.tollgate_counters v WHERE ${inPartition("v.name")} LIMIT batch_size
  ) v WHERE c.name = v.name;
  GET DIAGNOSTICS counters = ROW_COUNT;
  DELETE FROM ${schema}.tollgate_replays r USING (
    SELECT v.id FROM ${schema}.tollgate_replays v WHERE ${inPartition("v.id")} LIMIT batch_size
  ) v WHERE r.id = v.id;
  GET DIAGNOSTICS replays = ROW_COUNT;
  RETURN keys IS NOT NULL OR counters > 0 OR replays > 0;
END
$function$;

-- Removes at most batch_size expired counters, replays and writers each. Returns how many it removed. It waits for no
-- lock: what another session has locked is in use, or is being removed there.
CREATE FUNCTION ${schema}.tollgate_sweep(batch_size integer) RETURNS integer LANGUAGE plpgsql${planSettings}
AS $function$
DECLARE
  now_millis bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  removed integer;
  total integer;
BEGIN
  DELETE FROM ${schema}.tollgate_counters c USING (
    SELECT e.name FROM ${schema}.tollgate_counters e
    WHERE e.expires <= now_millis ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED
  ) e WHERE c.name = e.name;
  GET DIAGNOSTICS total = ROW_COUNT;
  DELETE FROM ${schema}.tollgate_replays r USING (
    SELECT e.id FROM ${schema}.tollgate_replays e
    WHERE e.expires <= now_millis ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED
  ) e WHERE r.id = e.id;
  GET DIAGNOSTICS removed = ROW_COUNT;
  total := total + removed;
  DELETE FROM ${schema}.tollgate_writers w USING (
    SELECT e.partition, e.writer FROM ${schema}.tollgate_writers e
    WHERE e.expires <= now_millis ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED
  ) e WHERE w.partition = e.partition AND w.writer = e.writer;
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN total + removed;
END
$function$;
`
