/**
 * The function `tollgate_commit`: applies a batch of commits to one partition, each completely or not at all, in one
 * transaction. `CommitBatch.ts` encodes its arguments and decodes its results.
 */

import { lookUp, scoped } from "./names.ts"

/**
 * The numbers by which a change is encoded as kind, subject, amount, bound and ttl. The subject is the position of the
 * record in `record_keys`, of the counter in `counter_names`, or of the term in `term_names`.
 *
 * | kind         | amount          | bound                  |
 * |--------------|-----------------|------------------------|
 * | check        | expected version| 0                      |
 * | put          | expected version| position in `puts`     |
 * | delete       | expected version| 0                      |
 * | atMost       | maximum         | 0                      |
 * | add          | by              | maximum                |
 * | raise        | to              | 0                      |
 * | take         | cost × interval | burst × interval       |
 * | checkCounter | expected value  | 0                      |
 */
export const kinds = { check: 1, put: 2, delete: 3, atMost: 4, add: 5, raise: 6, take: 7, checkCounter: 8 } as const

/** The numbers of a change, in their order. */
export const fields = ["kind", "subject", "amount", "bound", "ttl"] as const

/** The SQL of a number of the change at this position. */
const field = (position: string, name: (typeof fields)[number]): string =>
  `changes[${position} * ${fields.length} - ${fields.length - 1 - fields.indexOf(name)}]`

/**
 * The outcome of a commit is its first number. After `applied` follow the version of each put and the total of each
 * counter, in the order of the changes; after `replayed` the number of numbers and the numbers; after a conflict the
 * position of the change in its commit and, for `uniqueKey`, the position of the unique key in its put or, for
 * `rateLimited`, the microseconds after which to retry.
 */
export const outcomes = {
  applied: 0,
  replayed: 1,
  stale: 2,
  uniqueKey: 3,
  tooManyRecords: 4,
  counterExceeded: 5,
  rateLimited: 6
} as const

/**
 * Milliseconds for which the outcomes of a writer's last batch are kept: longer than any retry. They are renewed when half
 * of this has passed, so that the index on the expiry rarely changes.
 */
const writerTtl = 7_200_000

/** Milliseconds by which the life of a counter is extended at most, so that the index on its expiry rarely changes. */
const maxCounterExtension = 60_000

/** In place of the time to keep a counter: a negative add has brought it to 0, so it is removed. */
const removed = -1

/**
 * The settings of every function. No object of another schema can take the place of a built-in one. The plans do not depend
 * on statistics, which a new table does not have, nor on settings of your application: each loops over the names in an
 * array and looks them up in an index.
 */
export const functionSettings = `
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
  SET plan_cache_mode = force_generic_plan`

export const commitFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.tollgate_commit(
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
  ${functionSettings.trim()}
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
  -- For each counter that has changed, the time to keep it, or ${removed} if it is removed. NULL if it has not.
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
      FROM ${schema}.tollgate_partitions p WHERE p.name = partition_name FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO ${schema}.tollgate_partitions AS p (name, original_name)
      VALUES (partition_name, original_names ->> partition_name) ON CONFLICT DO NOTHING;
    is_new_partition := FOUND;
  END LOOP;

  SELECT w.batch, w.outcomes, w.replays INTO last_batch, outcomes, replays
    FROM ${schema}.tollgate_writers w WHERE w.partition = partition_id AND w.writer = writer_id;
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
      LEFT JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.version", `r.key = ${scoped("k.key")}`)} ON true;
  END IF;
  IF cardinality(counter_names) > 0 THEN
    -- Every change of a counter holds the lock of its partition until it has ended. So the counters, also those without a
    -- row, stay as they are until the end of this transaction. At read committed, the statements below see what was
    -- committed before the lock was granted. At other isolation levels they may not: this fails then, because a row was
    -- changed or removed, or because one appeared where a row is inserted. That row is expired.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
      PERFORM c.name FROM unnest(counter_names) n (name)
        CROSS JOIN LATERAL (SELECT c.name FROM ${schema}.tollgate_counters c
          WHERE c.name = ${scoped("n.name")} OFFSET 0 FOR UPDATE) c;
      INSERT INTO ${schema}.tollgate_counters (name, original_name, value, expires)
        SELECT ${scoped("n.name")}, original_names ->> n.name, 0, 0 FROM unnest(counter_names) n (name)
        ON CONFLICT (name) DO NOTHING;
    END IF;
    SELECT array_agg(coalesce(c.value, 0) ORDER BY n.position), array_agg(coalesce(c.expires, 0) ORDER BY n.position)
      INTO counts, expiries
      FROM unnest(counter_names) WITH ORDINALITY n (name, position)
      LEFT JOIN ${lookUp(
        `${schema}.tollgate_counters`,
        "c",
        "c.value, c.expires",
        `c.name = ${scoped("n.name")}`
      )} ON c.expires > now_millis;
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
      SELECT r.content, r.numbers INTO replay_content, replay_numbers FROM ${lookUp(
        `${schema}.tollgate_replays`,
        "r",
        "r.content, r.numbers, r.expires",
        `r.id = ${scoped("(replay ->> 'id')")}`
      )} WHERE r.expires > now_millis;
      IF FOUND THEN
        outcomes := outcomes || ARRAY[${outcomes.replayed}, cardinality(replay_numbers)] || replay_numbers;
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
          SELECT c AS change, ${scoped(`record_keys[${field("c", "subject")}]`)} AS key,
            CASE ${field("c", "kind")} WHEN ${kinds.put} THEN ${field("c", "bound")} END AS put
          FROM generate_series(first_change, last_change) c
          WHERE ${field("c", "kind")} IN (${kinds.put}, ${kinds.delete})
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
      LEFT JOIN ${lookUp(
        `${schema}.tollgate_unique_keys`,
        "o",
        "o.record",
        `o.unique_key = ${scoped("u.unique_key")}`
      )} ON true
      LEFT JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.key", "r.id = o.record")} ON true
      WHERE u.occurrence > 1 OR (r.key IS NOT NULL AND NOT is_written ? r.key)
      ORDER BY u.change, u.position LIMIT 1;
    END IF;

    conflict := NULL;
    FOR change IN first_change .. last_change LOOP
      subject := ${field("change", "subject")};
      amount := ${field("change", "amount")};
      bound := ${field("change", "bound")};
      CASE ${field("change", "kind")}
        WHEN ${kinds.check}, ${kinds.put}, ${kinds.delete} THEN
          IF versions[subject] <> amount THEN
            conflict := ${outcomes.stale};
          ELSIF change = unique_change THEN
            conflict := ${outcomes.uniqueKey};
            conflict_detail := unique_position;
          END IF;
        WHEN ${kinds.atMost} THEN
          SELECT t.total INTO total FROM ${schema}.tollgate_terms t
            WHERE t.term = ${scoped("term_names[subject]")};
          IF total > amount THEN conflict := ${outcomes.tooManyRecords}; END IF;
        WHEN ${kinds.add} THEN
          next_counts[change] := greatest(0, counts[subject] + amount);
          IF amount > 0 AND next_counts[change] > bound THEN conflict := ${outcomes.counterExceeded}; END IF;
        WHEN ${kinds.checkCounter} THEN
          IF counts[subject] <> amount THEN conflict := ${outcomes.stale}; END IF;
        WHEN ${kinds.raise} THEN
          next_counts[change] := greatest(counts[subject], amount);
        WHEN ${kinds.take} THEN
          IF counts[subject] > now_micros + bound THEN
            -- The server's clock was set back, or this server took over from one whose clock was ahead. The limit is
            -- empty. Keep that, even if the commit is refused, so that the limit fills up from now on.
            counts[subject] := now_micros + bound;
            ttls[subject] := coalesce(ttls[subject], 0);
          END IF;
          next_counts[change] := greatest(counts[subject], now_micros) + amount;
          IF next_counts[change] - now_micros > bound THEN
            conflict := ${outcomes.rateLimited};
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
      IF conflict IN (${outcomes.uniqueKey}, ${outcomes.rateLimited}) THEN
        outcomes[next_outcome] := conflict_detail;
        next_outcome := next_outcome + 1;
      END IF;
      CONTINUE;
    END IF;

    outcomes[next_outcome] := ${outcomes.applied};
    next_outcome := next_outcome + 1;
    numbers := '{}';
    written_versions := '{}';
    FOR change IN first_change .. last_change LOOP
      subject := ${field("change", "subject")};
      CASE ${field("change", "kind")}
        WHEN ${kinds.put} THEN
          last_version := last_version + 1;
          versions[subject] := last_version;
          written_versions := array_append(written_versions, last_version);
          outcomes[next_outcome] := last_version;
        WHEN ${kinds.delete} THEN
          versions[subject] := 0;
          written_versions := array_append(written_versions, NULL);
          CONTINUE;
        WHEN ${kinds.add}, ${kinds.raise}, ${kinds.take} THEN
          counts[subject] := next_counts[change];
          IF ${field("change", "kind")} = ${kinds.add} AND ${field("change", "amount")} < 0 AND counts[subject] = 0 THEN
            -- A later commit that changes the counter starts a new one, with its own expiry.
            ttls[subject] := ${removed};
            expiries[subject] := 0;
          ELSE
            ttls[subject] := greatest(ttls[subject], ${field("change", "ttl")});
          END IF;
          outcomes[next_outcome] := next_counts[change];
          IF ${field("change", "kind")} = ${kinds.take} THEN
            outcomes[next_outcome] := next_counts[change] - now_micros;
          END IF;
        ELSE CONTINUE;
      END CASE;
      numbers := array_append(numbers, outcomes[next_outcome]);
      next_outcome := next_outcome + 1;
    END LOOP;
    IF written_keys IS NOT NULL THEN
      record_number := ${schema}.tollgate_write_records(
        partition_id, record_number, written_keys, written_puts, written_versions, puts);
      writes_records := true;
    END IF;
    IF replay IS NOT NULL THEN
      INSERT INTO ${schema}.tollgate_replays AS r (id, content, numbers, expires)
        VALUES (${scoped("(replay ->> 'id')")}, replay ->> 'content', numbers, now_millis + (replay ->> 'ttl')::bigint)
        ON CONFLICT (id) DO UPDATE
        SET content = excluded.content, numbers = excluded.numbers, expires = excluded.expires;
    END IF;
    is_any_applied := is_any_applied OR writes_records OR replay IS NOT NULL OR cardinality(numbers) > 0;
  END LOOP;

  IF array_remove(ttls, NULL) <> '{}' THEN
    -- Keep a counter a little longer than necessary: while its expiry stays the same, its index needs no new entry.
    INSERT INTO ${schema}.tollgate_counters AS c (name, original_name, value, expires)
      SELECT ${scoped("n.name")}, original_names ->> n.name, n.value,
        CASE WHEN now_millis + n.ttl > n.expires THEN now_millis + n.ttl + least(n.ttl / 8, ${maxCounterExtension}) ELSE n.expires END
      FROM unnest(counter_names, counts, ttls, expiries) n (name, value, ttl, expires) WHERE n.ttl <> ${removed}
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires;
  END IF;
  IF ${removed} = ANY (ttls) THEN
    DELETE FROM ${schema}.tollgate_counters c WHERE c.ctid = ANY (ARRAY(
      SELECT c.ctid FROM unnest(counter_names, ttls) n (name, ttl)
      CROSS JOIN ${lookUp(`${schema}.tollgate_counters`, "c", "c.ctid", `c.name = ${scoped("n.name")}`)}
      WHERE n.ttl = ${removed}
    ));
  END IF;
  -- Refusals are kept too if an earlier attempt may still arrive, which must not be applied then.
  IF is_any_applied OR is_retry THEN
    INSERT INTO ${schema}.tollgate_writers AS w (partition, writer, batch, outcomes, replays, expires)
      VALUES (partition_id, writer_id, batch_number, tollgate_commit.outcomes, tollgate_commit.replays, now_millis + ${writerTtl})
      ON CONFLICT (partition, writer) DO UPDATE SET batch = excluded.batch, outcomes = excluded.outcomes,
        replays = excluded.replays,
        expires = CASE WHEN w.expires < now_millis + ${writerTtl / 2} THEN excluded.expires ELSE w.expires END;
    IF writes_records THEN
      UPDATE ${schema}.tollgate_partitions p SET sequence = last_version, last_record_number = record_number
        WHERE p.id = partition_id;
    END IF;
  ELSIF is_new_partition THEN
    DELETE FROM ${schema}.tollgate_partitions p WHERE p.id = partition_id;
  END IF;
END
$function$;
`
