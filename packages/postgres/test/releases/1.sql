BEGIN;

SELECT pg_advisory_xact_lock(hashtextextended('tollgate migration of tollgate', 0));

DO $block$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'tollgate') THEN CREATE SCHEMA "tollgate"; END IF;
END
$block$;

CREATE TABLE "tollgate".tollgate_schema (version integer NOT NULL);

-- A commit locks the row of its partition, so the commits of a partition run one after another. Besides, it waits only for
-- rows that a sweep is deleting, and a sweep waits for none, so commits cannot deadlock.
CREATE TABLE "tollgate".tollgate_partitions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  original_name text,
  -- The version of the last write. It is never reset, so that versions are never reused.
  sequence bigint NOT NULL DEFAULT 0,
  -- The number of the record that was created last.
  last_record_number bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The id of a record is its number in 13 hexadecimal digits. The records of a partition are numbered in the order of
-- their creation, which is the order of every list.
CREATE TABLE "tollgate".tollgate_records (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  key text COLLATE "C" NOT NULL UNIQUE,
  version bigint NOT NULL,
  parent text COLLATE "C",
  terms text[] COLLATE "C" NOT NULL,
  unique_keys text[] COLLATE "C" NOT NULL,
  -- What the store reads as JSON: key, parent, index terms, unique keys.
  header text NOT NULL,
  body text NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE "tollgate".tollgate_unique_keys (
  unique_key text COLLATE "C" PRIMARY KEY,
  record text COLLATE "C" NOT NULL
);

-- The total is kept, because a commit may check it.
CREATE TABLE "tollgate".tollgate_terms (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  term text COLLATE "C" NOT NULL UNIQUE,
  total bigint NOT NULL
) WITH (fillfactor = 70);

-- The records that have a term, as one bit per number: intersecting fifty thousand records is a matter of fifty rows.
-- A row is there if it has a bit that is set.
CREATE TABLE "tollgate".tollgate_postings (
  term bigint NOT NULL,
  -- The number of its first record, divided by the number of bits.
  chunk bigint NOT NULL,
  records bit(1024) NOT NULL,
  PRIMARY KEY (term, chunk)
) WITH (fillfactor = 70);

-- Half of each page is free for new versions of its rows, which then need no new entries in the indexes.
CREATE TABLE "tollgate".tollgate_counters (
  name text COLLATE "C" PRIMARY KEY,
  original_name text,
  value bigint NOT NULL,
  expires bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX tollgate_counters_expires ON "tollgate".tollgate_counters (expires);

CREATE TABLE "tollgate".tollgate_replays (
  id text COLLATE "C" PRIMARY KEY,
  -- What the store reads as JSON: id, fingerprint, result, and the record or counter of each number.
  content text NOT NULL,
  -- The version of each record and the total of each counter, in the order of the changes.
  numbers bigint[] NOT NULL,
  expires bigint NOT NULL
);
CREATE INDEX tollgate_replays_expires ON "tollgate".tollgate_replays (expires);

-- The last batch of each open store and its outcomes. A store sends the batches of a partition one after another, so
-- a batch with a lost reply is applied once.
CREATE TABLE "tollgate".tollgate_writers (
  partition bigint NOT NULL,
  writer uuid NOT NULL,
  batch bigint NOT NULL,
  outcomes bigint[] NOT NULL,
  replays jsonb,
  expires bigint NOT NULL,
  PRIMARY KEY (partition, writer)
) WITH (fillfactor = 50);
CREATE INDEX tollgate_writers_expires ON "tollgate".tollgate_writers (expires);

-- Puts and deletes records. The arguments are the keys of the records as in the table, the position of each put in puts
-- (NULL for a delete), and the version of each put. The caller has locked the partition and keeps the result, the number
-- of the record that was created last.
CREATE OR REPLACE FUNCTION "tollgate".tollgate_write_records(
  partition_id bigint,
  last_record_number bigint,
  keys text[],
  put_positions bigint[],
  versions bigint[],
  puts jsonb[]
) RETURNS bigint LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
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
    LEFT JOIN LATERAL (SELECT r.id, r.number FROM "tollgate".tollgate_records r WHERE r.key = w.key OFFSET 0) r ON true;
  FOR position IN 1 .. cardinality(keys) LOOP
    IF ids[position] IS NULL THEN
      last_record_number := last_record_number + 1;
      numbers[position] := last_record_number;
      ids[position] := (partition_id::text || ':' || lpad(to_hex(last_record_number), 13, '0'));
    END IF;
  END LOOP;

  -- Release unique keys before they are taken: one commit may move a unique key from one record to another.
  IF has_existing THEN
    DELETE FROM "tollgate".tollgate_unique_keys u WHERE u.ctid = ANY (ARRAY(
      SELECT u.ctid FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = w.id OFFSET 0) r
      CROSS JOIN unnest(r.unique_keys) k (unique_key)
      CROSS JOIN LATERAL (SELECT u.ctid FROM "tollgate".tollgate_unique_keys u WHERE u.unique_key = (partition_id::text || ':' || k.unique_key) OFFSET 0) u
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'uniqueKeys' ? k.unique_key
    ));
    SELECT array_agg(n.term), array_agg(r.number) INTO removed_terms, removed_numbers
      FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = w.id OFFSET 0) r
      CROSS JOIN unnest(r.terms) n (term)
      WHERE w.put IS NULL OR NOT puts[w.put] -> 'terms' ? n.term;
  END IF;
  INSERT INTO "tollgate".tollgate_unique_keys (unique_key, record)
    SELECT (partition_id::text || ':' || k.unique_key), w.id
    FROM unnest(ids, put_positions) w (id, put)
    LEFT JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = w.id OFFSET 0) r ON true
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys') k (unique_key)
    WHERE r.id IS NULL OR k.unique_key <> ALL (r.unique_keys);
  SELECT array_agg(n.term), array_agg(w.number) INTO added_terms, added_numbers
    FROM unnest(ids, numbers, put_positions) w (id, number, put)
    LEFT JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = w.id OFFSET 0) r ON true
    CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'terms') n (term)
    WHERE r.id IS NULL OR n.term <> ALL (r.terms);

  IF has_existing THEN
    DELETE FROM "tollgate".tollgate_records r WHERE r.ctid = ANY (ARRAY(
      SELECT r.ctid FROM unnest(ids, put_positions) w (id, put)
      CROSS JOIN LATERAL (SELECT r.ctid FROM "tollgate".tollgate_records r WHERE r.id = w.id OFFSET 0) r WHERE w.put IS NULL
    ));
  END IF;
  INSERT INTO "tollgate".tollgate_records (id, number, key, version, parent, terms, unique_keys, header, body)
    SELECT w.id, w.number, w.key, w.version, puts[w.put] ->> 'parent',
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'terms')),
      ARRAY(SELECT jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys')),
      puts[w.put] ->> 'header', puts[w.put] ->> 'body'
    FROM unnest(ids, numbers, keys, put_positions, versions) w (id, number, key, put, version) WHERE w.put IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, parent = excluded.parent,
      terms = excluded.terms, unique_keys = excluded.unique_keys, header = excluded.header, body = excluded.body;

  IF added_terms IS NOT NULL THEN
    INSERT INTO "tollgate".tollgate_terms AS t (term, total)
      SELECT (partition_id::text || ':' || a.term), count(*) FROM unnest(added_terms) a (term) GROUP BY a.term
      ON CONFLICT (term) DO UPDATE SET total = t.total + excluded.total;
    INSERT INTO "tollgate".tollgate_postings AS p (term, chunk, records)
      SELECT t.id, c.chunk, c.records FROM (
      SELECT a.term, a.number / 1024 AS chunk, count(*) AS total,
        bit_or(set_bit(0::bit(1024), (a.number % 1024)::integer, 1)) AS records
      FROM unnest(added_terms, added_numbers) a (term, number) GROUP BY a.term, a.number / 1024
    ) c CROSS JOIN LATERAL (SELECT t.id FROM "tollgate".tollgate_terms t WHERE t.term = (partition_id::text || ':' || c.term) OFFSET 0) t
      ON CONFLICT (term, chunk) DO UPDATE SET records = p.records | excluded.records;
  END IF;
  IF removed_terms IS NOT NULL THEN
    WITH changed AS (
      INSERT INTO "tollgate".tollgate_postings AS p (term, chunk, records)
      SELECT t.id, c.chunk, c.records FROM (
      SELECT a.term, a.number / 1024 AS chunk, count(*) AS total,
        bit_or(set_bit(0::bit(1024), (a.number % 1024)::integer, 1)) AS records
      FROM unnest(removed_terms, removed_numbers) a (term, number) GROUP BY a.term, a.number / 1024
    ) c
      CROSS JOIN LATERAL (SELECT t.id FROM "tollgate".tollgate_terms t WHERE t.term = (partition_id::text || ':' || c.term) OFFSET 0) t
      ON CONFLICT (term, chunk) DO UPDATE SET records = p.records & ~excluded.records RETURNING p.*
    )
    SELECT array_agg(c.term), array_agg(c.chunk) INTO emptied_terms, emptied_chunks
      FROM changed c WHERE bit_count(c.records) = 0;
    DELETE FROM "tollgate".tollgate_postings p WHERE p.ctid = ANY (ARRAY(
      SELECT p.ctid FROM unnest(emptied_terms, emptied_chunks) e (term, chunk)
      CROSS JOIN LATERAL (SELECT p.ctid FROM "tollgate".tollgate_postings p WHERE p.term = e.term AND p.chunk = e.chunk OFFSET 0) p
    ));
    WITH changed AS (
      INSERT INTO "tollgate".tollgate_terms AS t (term, total)
      SELECT (partition_id::text || ':' || a.term), count(*) FROM unnest(removed_terms) a (term) GROUP BY a.term
      ON CONFLICT (term) DO UPDATE SET total = t.total - excluded.total RETURNING t.*
    )
    SELECT array_agg(c.id) INTO emptied_terms FROM changed c WHERE c.total = 0;
    DELETE FROM "tollgate".tollgate_terms t WHERE t.ctid = ANY (ARRAY(
      SELECT t.ctid FROM unnest(emptied_terms) e (id)
      CROSS JOIN LATERAL (SELECT t.ctid FROM "tollgate".tollgate_terms t WHERE t.id = e.id OFFSET 0) t
    ));
  END IF;
  RETURN last_record_number;
END
$function$;

-- Removes at most batch_size records, counters and replays each. Returns whether there were any.
CREATE OR REPLACE FUNCTION "tollgate".tollgate_clear(partition_name text, batch_size integer, max_lock_wait integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
  partition_id bigint;
  keys text[];
  counters integer;
  replays integer;
BEGIN
  PERFORM set_config('lock_timeout', max_lock_wait::text, true);
  -- The update makes a transaction that began before, at another isolation level than the default, fail.
  UPDATE "tollgate".tollgate_partitions p SET sequence = p.sequence WHERE p.name = partition_name
    RETURNING p.id INTO partition_id;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT array_agg(r.key) INTO keys FROM (
    SELECT r.key FROM "tollgate".tollgate_records r WHERE r.id >= partition_id::text || ':' AND r.id < partition_id::text || ';' ORDER BY r.id LIMIT batch_size
  ) r;
  IF keys IS NOT NULL THEN
    PERFORM "tollgate".tollgate_write_records(
      partition_id, 0, keys, array_fill(NULL::bigint, ARRAY[cardinality(keys)]), NULL, NULL);
  END IF;
  DELETE FROM "tollgate".tollgate_counters d WHERE d.ctid = ANY (ARRAY(SELECT v.ctid FROM "tollgate".tollgate_counters v WHERE v.name >= partition_id::text || ':' AND v.name < partition_id::text || ';' LIMIT batch_size));
  GET DIAGNOSTICS counters = ROW_COUNT;
  DELETE FROM "tollgate".tollgate_replays d WHERE d.ctid = ANY (ARRAY(SELECT v.ctid FROM "tollgate".tollgate_replays v WHERE v.id >= partition_id::text || ':' AND v.id < partition_id::text || ';' LIMIT batch_size));
  GET DIAGNOSTICS replays = ROW_COUNT;
  RETURN keys IS NOT NULL OR counters > 0 OR replays > 0;
END
$function$;

-- Removes at most batch_size expired counters, replays and writers each. Returns how many it removed. It waits for no
-- lock: what another session has locked is in use, or is being removed there.
CREATE OR REPLACE FUNCTION "tollgate".tollgate_sweep(batch_size integer) RETURNS integer LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
  now_millis bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  removed integer;
  total integer;
BEGIN
  DELETE FROM "tollgate".tollgate_counters d WHERE d.ctid = ANY (ARRAY(SELECT e.ctid FROM "tollgate".tollgate_counters e WHERE e.expires <= now_millis
    ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS total = ROW_COUNT;
  DELETE FROM "tollgate".tollgate_replays d WHERE d.ctid = ANY (ARRAY(SELECT e.ctid FROM "tollgate".tollgate_replays e WHERE e.expires <= now_millis
    ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS removed = ROW_COUNT;
  total := total + removed;
  DELETE FROM "tollgate".tollgate_writers d WHERE d.ctid = ANY (ARRAY(SELECT e.ctid FROM "tollgate".tollgate_writers e WHERE e.expires <= now_millis
    ORDER BY e.expires LIMIT batch_size FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN total + removed;
END
$function$;

CREATE OR REPLACE FUNCTION "tollgate".tollgate_commit(
  partition_name text,
  -- Identify the batch, so that it is applied once.
  writer_id uuid,
  batch_number bigint,
  -- The caller's time in microseconds, or NULL for the server's.
  caller_time bigint,
  -- Milliseconds for which it waits for the lock of the partition.
  max_lock_wait integer,
  -- Whether it was sent before, so that an earlier attempt may still arrive.
  is_retry boolean,
  record_keys text[],
  counter_names text[],
  term_names text[],
  -- The numbers of all changes.
  changes bigint[],
  -- The position of the last change of each commit.
  commit_ends integer[],
  -- The puts: objects with parent, terms, uniqueKeys, header and body. NULL if no record is put or deleted.
  put_list jsonb,
  -- For each commit null, or an object with id, content and ttl. NULL if there are none.
  replay_list jsonb,
  -- The original names by those in the tables, where they differ. NULL if there are none.
  original_names jsonb,
  OUT outcomes bigint[],
  OUT replays jsonb
) LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
  partition_id bigint;
  last_version bigint;
  record_number bigint;
  is_new_partition boolean := false;
  last_batch bigint;
  server_time bigint;
  now_micros bigint;
  now_millis bigint;
  puts jsonb[];
  versions bigint[];
  counts bigint[];
  expiries bigint[];
  -- For each counter that has changed, the time to keep it. NULL if it has not.
  ttls bigint[];
  -- The value of each changed counter after the current commit, by the position of the change.
  next_counts bigint[];
  next_outcome integer := 1;
  first_change integer;
  last_change integer := 0;
  subject integer;
  amount bigint;
  bound bigint;
  conflict integer;
  conflict_change integer;
  conflict_detail bigint;
  unique_change integer;
  unique_position bigint;
  -- The records that the commit puts or deletes: the change, the key, the put (NULL for a delete) and the new version.
  written_changes integer[];
  written_keys text[];
  written_puts bigint[];
  written_versions bigint[];
  is_written jsonb;
  replay jsonb;
  replay_content text;
  replay_numbers bigint[];
  numbers bigint[];
  total bigint;
  writes_records boolean := false;
  is_any_applied boolean := false;
BEGIN
  PERFORM set_config('lock_timeout', max_lock_wait::text, true);
  LOOP
    SELECT p.id, p.sequence, p.last_record_number INTO partition_id, last_version, record_number
      FROM "tollgate".tollgate_partitions p WHERE p.name = partition_name FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO "tollgate".tollgate_partitions AS p (name, original_name)
      VALUES (partition_name, original_names ->> partition_name) ON CONFLICT DO NOTHING;
    is_new_partition := FOUND;
  END LOOP;

  SELECT w.batch, w.outcomes, w.replays INTO last_batch, outcomes, replays
    FROM "tollgate".tollgate_writers w WHERE w.partition = partition_id AND w.writer = writer_id;
  IF last_batch = batch_number THEN RETURN; END IF;
  outcomes := '{}';
  replays := NULL;
  -- A connection that was lost has delivered an old batch late. Its store has stopped waiting for it.
  IF last_batch > batch_number THEN RETURN; END IF;

  server_time := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  now_millis := server_time / 1000;
  now_micros := coalesce(caller_time, server_time);

  IF cardinality(record_keys) > 0 THEN
    SELECT array_agg(coalesce(r.version, 0) ORDER BY k.position) INTO versions
      FROM unnest(record_keys) WITH ORDINALITY k (key, position)
      LEFT JOIN LATERAL (SELECT r.version FROM "tollgate".tollgate_records r WHERE r.key = (partition_id::text || ':' || k.key) OFFSET 0) r ON true;
  END IF;
  IF cardinality(counter_names) > 0 THEN
    SELECT array_agg(coalesce(c.value, 0) ORDER BY n.position), array_agg(coalesce(c.expires, 0) ORDER BY n.position)
      INTO counts, expiries
      FROM unnest(counter_names) WITH ORDINALITY n (name, position)
      LEFT JOIN LATERAL (SELECT c.value, c.expires FROM "tollgate".tollgate_counters c WHERE c.name = (partition_id::text || ':' || n.name) AND c.expires > now_millis OFFSET 0) c ON true;
    ttls := array_fill(NULL::bigint, ARRAY[cardinality(counter_names)]);
  END IF;
  IF put_list IS NOT NULL THEN
    SELECT array_agg(p.put ORDER BY p.position) INTO puts
      FROM jsonb_array_elements(put_list) WITH ORDINALITY p (put, position);
  END IF;

  FOR commit_number IN 1 .. cardinality(commit_ends) LOOP
    first_change := last_change + 1;
    last_change := commit_ends[commit_number];

    replay := replay_list -> (commit_number - 1);
    IF jsonb_typeof(replay) = 'object' THEN
      SELECT r.content, r.numbers INTO replay_content, replay_numbers FROM "tollgate".tollgate_replays r
        WHERE r.id = (partition_id::text || ':' || (replay ->> 'id')) AND r.expires > now_millis;
      IF FOUND THEN
        outcomes := outcomes || ARRAY[1, cardinality(replay_numbers)] || replay_numbers;
        next_outcome := cardinality(outcomes) + 1;
        replays := coalesce(replays, '[]') || to_jsonb(replay_content);
        CONTINUE;
      END IF;
    ELSE
      replay := NULL;
    END IF;

    written_keys := NULL;
    unique_change := NULL;
    IF put_list IS NOT NULL THEN
      SELECT array_agg(w.change ORDER BY w.change), array_agg(w.key ORDER BY w.change),
          array_agg(w.put ORDER BY w.change), jsonb_object_agg(w.key, true)
        INTO written_changes, written_keys, written_puts, is_written
        FROM (
          SELECT c AS change, (partition_id::text || ':' || record_keys[changes[c * 5 - 3]]) AS key,
            CASE changes[c * 5 - 4] WHEN 2 THEN changes[c * 5 - 1] END AS put
          FROM generate_series(first_change, last_change) c
          WHERE changes[c * 5 - 4] IN (2, 3)
        ) w
        HAVING count(*) > 0;
      -- The first put of a unique key that belongs to a record outside of this commit, or to an earlier put of it.
      SELECT u.change, u.position INTO unique_change, unique_position FROM (
        SELECT w.change, k.position, k.unique_key,
          row_number() OVER (PARTITION BY k.unique_key ORDER BY w.change) AS occurrence
        FROM unnest(written_changes, written_puts) w (change, put)
        CROSS JOIN jsonb_array_elements_text(puts[w.put] -> 'uniqueKeys') WITH ORDINALITY k (unique_key, position)
        WHERE written_keys IS NOT NULL
      ) u
      LEFT JOIN LATERAL (SELECT o.record FROM "tollgate".tollgate_unique_keys o WHERE o.unique_key = (partition_id::text || ':' || u.unique_key) OFFSET 0) o ON true
      LEFT JOIN LATERAL (SELECT r.key FROM "tollgate".tollgate_records r WHERE r.id = o.record OFFSET 0) r ON true
      WHERE u.occurrence > 1 OR (r.key IS NOT NULL AND NOT is_written ? r.key)
      ORDER BY u.change, u.position LIMIT 1;
    END IF;

    conflict := NULL;
    FOR change IN first_change .. last_change LOOP
      subject := changes[change * 5 - 3];
      amount := changes[change * 5 - 2];
      bound := changes[change * 5 - 1];
      CASE changes[change * 5 - 4]
        WHEN 1, 2, 3 THEN
          IF versions[subject] <> amount THEN
            conflict := 2;
          ELSIF change = unique_change THEN
            conflict := 3;
            conflict_detail := unique_position;
          END IF;
        WHEN 4 THEN
          SELECT t.total INTO total FROM "tollgate".tollgate_terms t
            WHERE t.term = (partition_id::text || ':' || term_names[subject]);
          IF total > amount THEN conflict := 4; END IF;
        WHEN 5 THEN
          next_counts[change] := greatest(0, counts[subject] + amount);
          IF amount > 0 AND next_counts[change] > bound THEN conflict := 5; END IF;
        WHEN 6 THEN
          next_counts[change] := greatest(counts[subject], amount);
        WHEN 7 THEN
          IF counts[subject] > now_micros + bound THEN
            -- The server's clock was set back, or this server took over from one whose clock was ahead. The limit is
            -- empty. Keep that, even if the commit is refused, so that the limit fills up from now on.
            counts[subject] := now_micros + bound;
            ttls[subject] := coalesce(ttls[subject], 0);
          END IF;
          next_counts[change] := greatest(counts[subject], now_micros) + amount;
          IF next_counts[change] - now_micros > bound THEN
            conflict := 6;
            conflict_detail := next_counts[change] - now_micros - bound;
          END IF;
      END CASE;
      IF conflict IS NOT NULL THEN
        conflict_change := change - first_change + 1;
        EXIT;
      END IF;
    END LOOP;

    IF conflict IS NOT NULL THEN
      outcomes[next_outcome] := conflict;
      outcomes[next_outcome + 1] := conflict_change;
      next_outcome := next_outcome + 2;
      IF conflict IN (3, 6) THEN
        outcomes[next_outcome] := conflict_detail;
        next_outcome := next_outcome + 1;
      END IF;
      CONTINUE;
    END IF;

    outcomes[next_outcome] := 0;
    next_outcome := next_outcome + 1;
    numbers := '{}';
    written_versions := '{}';
    FOR change IN first_change .. last_change LOOP
      subject := changes[change * 5 - 3];
      CASE changes[change * 5 - 4]
        WHEN 2 THEN
          last_version := last_version + 1;
          versions[subject] := last_version;
          written_versions := array_append(written_versions, last_version);
          outcomes[next_outcome] := last_version;
        WHEN 3 THEN
          versions[subject] := 0;
          written_versions := array_append(written_versions, NULL);
          CONTINUE;
        WHEN 5, 6, 7 THEN
          counts[subject] := next_counts[change];
          ttls[subject] := greatest(ttls[subject], changes[change * 5 - 0]);
          outcomes[next_outcome] := next_counts[change];
          IF changes[change * 5 - 4] = 7 THEN
            outcomes[next_outcome] := next_counts[change] - now_micros;
          END IF;
        ELSE CONTINUE;
      END CASE;
      numbers := array_append(numbers, outcomes[next_outcome]);
      next_outcome := next_outcome + 1;
    END LOOP;
    IF written_keys IS NOT NULL THEN
      record_number := "tollgate".tollgate_write_records(
        partition_id, record_number, written_keys, written_puts, written_versions, puts);
      writes_records := true;
    END IF;
    IF replay IS NOT NULL THEN
      INSERT INTO "tollgate".tollgate_replays AS r (id, content, numbers, expires)
        VALUES ((partition_id::text || ':' || (replay ->> 'id')), replay ->> 'content', numbers, now_millis + (replay ->> 'ttl')::bigint)
        ON CONFLICT (id) DO UPDATE
        SET content = excluded.content, numbers = excluded.numbers, expires = excluded.expires;
    END IF;
    is_any_applied := is_any_applied OR writes_records OR replay IS NOT NULL OR cardinality(numbers) > 0;
  END LOOP;

  IF array_remove(ttls, NULL) <> '{}' THEN
    -- Keep a counter a little longer than necessary: while its expiry stays the same, its index needs no new entry.
    INSERT INTO "tollgate".tollgate_counters AS c (name, original_name, value, expires)
      SELECT (partition_id::text || ':' || n.name), original_names ->> n.name, n.value,
        CASE WHEN now_millis + n.ttl > n.expires THEN now_millis + n.ttl + least(n.ttl / 8, 60000) ELSE n.expires END
      FROM unnest(counter_names, counts, ttls, expiries) n (name, value, ttl, expires) WHERE n.ttl IS NOT NULL
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires;
  END IF;
  -- Refusals are kept too if an earlier attempt may still arrive, which must not be applied then.
  IF is_any_applied OR is_retry THEN
    INSERT INTO "tollgate".tollgate_writers AS w (partition, writer, batch, outcomes, replays, expires)
      VALUES (partition_id, writer_id, batch_number, tollgate_commit.outcomes, tollgate_commit.replays, now_millis + 7200000)
      ON CONFLICT (partition, writer) DO UPDATE SET batch = excluded.batch, outcomes = excluded.outcomes,
        replays = excluded.replays,
        expires = CASE WHEN w.expires < now_millis + 3600000 THEN excluded.expires ELSE w.expires END;
    IF writes_records THEN
      UPDATE "tollgate".tollgate_partitions p SET sequence = last_version, last_record_number = record_number
        WHERE p.id = partition_id;
    END IF;
  ELSIF is_new_partition THEN
    DELETE FROM "tollgate".tollgate_partitions p WHERE p.id = partition_id;
  END IF;
END
$function$;

CREATE OR REPLACE FUNCTION "tollgate".tollgate_get(partition_names text[], keys text[])
RETURNS TABLE ("position" bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body
    FROM unnest(partition_names, keys) WITH ORDINALITY n (partition, key, position)
    CROSS JOIN LATERAL (SELECT p.id FROM "tollgate".tollgate_partitions p WHERE p.name = n.partition OFFSET 0) p
    CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.key = (p.id::text || ':' || n.key) OFFSET 0) r;
END
$function$;

CREATE OR REPLACE FUNCTION "tollgate".tollgate_get_by_unique_key(partition_names text[], unique_keys text[])
RETURNS TABLE (
  "position" bigint, version bigint, header text, body text,
  parent_version bigint, parent_header text, parent_body text
) LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body, parent.version, parent.header, parent.body
    FROM unnest(partition_names, unique_keys) WITH ORDINALITY n (partition, unique_key, position)
    CROSS JOIN LATERAL (SELECT p.id FROM "tollgate".tollgate_partitions p WHERE p.name = n.partition OFFSET 0) p
    CROSS JOIN LATERAL (SELECT u.record FROM "tollgate".tollgate_unique_keys u WHERE u.unique_key = (p.id::text || ':' || n.unique_key) OFFSET 0) u
    CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = u.record OFFSET 0) r
    LEFT JOIN LATERAL (SELECT parent.* FROM "tollgate".tollgate_records parent WHERE parent.key = (p.id::text || ':' || r.parent) OFFSET 0) parent ON true;
END
$function$;

CREATE OR REPLACE FUNCTION "tollgate".tollgate_get_counters(partition_names text[], names text[])
RETURNS TABLE ("position" bigint, value bigint) LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, c.value
    FROM unnest(partition_names, names) WITH ORDINALITY n (partition, name, position)
    CROSS JOIN LATERAL (SELECT p.id FROM "tollgate".tollgate_partitions p WHERE p.name = n.partition OFFSET 0) p
    CROSS JOIN LATERAL (SELECT c.* FROM "tollgate".tollgate_counters c WHERE c.name = (p.id::text || ':' || n.name) OFFSET 0) c
    WHERE c.expires > (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END
$function$;

-- One page of the records that have all terms. The first row has the total, and no record if the page is empty.
CREATE OR REPLACE FUNCTION "tollgate".tollgate_list(
  partition_name text, term_names text[], skip bigint, count bigint, is_descending boolean
) RETURNS TABLE (total bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp
  SET enable_indexscan = on
  SET enable_indexonlyscan = on
  SET enable_tidscan = on
  SET enable_nestloop = on
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET enable_material = off
  SET enable_memoize = off
  SET jit = off
  SET join_collapse_limit = 1
  SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
  partition_id bigint;
  terms bigint[];
  -- The chunks in which there are records that have all terms, and those records as bits.
  chunks bigint[];
  matches bit(1024)[];
  -- The page in order of creation: how many records come before it, and how many it has.
  before bigint;
  size bigint;
  -- How many records come before the first chunk of the page.
  preceding bigint;
  numbers bigint[];
BEGIN
  SELECT p.id INTO partition_id FROM "tollgate".tollgate_partitions p WHERE p.name = partition_name;
  SELECT array_agg(t.id) INTO terms
    FROM unnest(term_names) n (term)
    CROSS JOIN LATERAL (SELECT t.id FROM "tollgate".tollgate_terms t WHERE t.term = (partition_id::text || ':' || n.term) OFFSET 0) t;
  total := 0;
  IF terms IS NOT NULL AND cardinality(terms) = cardinality(term_names) THEN
    SELECT array_agg(c.chunk ORDER BY c.chunk), array_agg(c.records ORDER BY c.chunk), sum(bit_count(c.records))
      INTO chunks, matches, total
      FROM (
        SELECT p.chunk, bit_and(p.records) AS records FROM "tollgate".tollgate_postings p WHERE p.term = ANY (terms)
        GROUP BY p.chunk HAVING pg_catalog.count(*) = cardinality(terms)
      ) c
      WHERE bit_count(c.records) > 0;
    total := coalesce(total, 0);
  END IF;

  size := greatest(0, least(count, total - skip));
  IF size = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  before := CASE WHEN is_descending THEN total - skip - size ELSE skip END;
  SELECT array_agg(c.chunk ORDER BY c.chunk), array_agg(c.records ORDER BY c.chunk), min(c.preceding)
    INTO chunks, matches, preceding
    FROM (
      SELECT m.chunk, m.records, bit_count(m.records) AS matched,
        sum(bit_count(m.records)) OVER (ORDER BY m.chunk) - bit_count(m.records) AS preceding
      FROM unnest(chunks, matches) m (chunk, records)
    ) c
    WHERE c.preceding < before + size AND c.preceding + c.matched > before;
  -- Most words of a sparse chunk have no bit that is set.
  numbers := ARRAY(
    SELECT m.chunk * 1024 + word * 64 + bit FROM unnest(chunks, matches) m (chunk, records)
    CROSS JOIN generate_series(0, 15) word
    CROSS JOIN generate_series(0, 63) bit
    WHERE substring(m.records FROM word * 64 + 1 FOR 64) <> 0::bit(64) AND get_bit(m.records, word * 64 + bit) = 1
    ORDER BY 1 OFFSET before - preceding LIMIT size
  );
  IF is_descending THEN
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(numbers) n (number)
      CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = (partition_id::text || ':' || lpad(to_hex(n.number), 13, '0')) OFFSET 0) r ORDER BY n.number DESC;
  ELSE
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(numbers) n (number)
      CROSS JOIN LATERAL (SELECT r.* FROM "tollgate".tollgate_records r WHERE r.id = (partition_id::text || ':' || lpad(to_hex(n.number), 13, '0')) OFFSET 0) r ORDER BY n.number;
  END IF;
END
$function$;

DELETE FROM "tollgate".tollgate_schema;

INSERT INTO "tollgate".tollgate_schema VALUES (1);

COMMIT;

