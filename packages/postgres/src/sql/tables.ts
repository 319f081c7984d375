/**
 * The tables. All names are below the schema of the store.
 *
 * The id of a record and the names of records, index terms, search terms, unique keys, counters and replays begin with the id of their
 * partition and a colon. So there is one index by which PostgreSQL can look each of them up, whatever its statistics are,
 * and those of a partition are a range of that index.
 *
 * Names of records, index terms, unique keys, counters and replays are in the form that `indexName.ts` makes, because an
 * entry of a B-tree index has at most 2,704 bytes and a text has no NUL. A name that has another form there is in the
 * header of its record, or in the column `original_name`. Times are in milliseconds since the epoch.
 */
import { chunkSize } from "./names.ts"

export const tables = (schema: string): string => `
CREATE TABLE ${schema}.tollgate_schema (version integer NOT NULL);

-- A commit locks the row of its partition, so the commits of a partition run one after another. Besides, it waits only for
-- rows that a sweep is deleting, and a sweep waits for none, so commits cannot deadlock.
CREATE TABLE ${schema}.tollgate_partitions (
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
CREATE TABLE ${schema}.tollgate_records (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  key text COLLATE "C" NOT NULL UNIQUE,
  version bigint NOT NULL,
  parent text COLLATE "C",
  terms text[] COLLATE "C" NOT NULL,
  unique_keys text[] COLLATE "C" NOT NULL,
  search_terms text[] COLLATE "C" NOT NULL,
  -- What the store reads as JSON: key, parent, index terms, unique keys, search terms.
  header text NOT NULL,
  body text NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE ${schema}.tollgate_unique_keys (
  unique_key text COLLATE "C" PRIMARY KEY,
  record text COLLATE "C" NOT NULL
);

-- The collation "C" compares the bytes of the terms in UTF-8, and so their code points.
CREATE TABLE ${schema}.tollgate_search (
  term text COLLATE "C" NOT NULL,
  -- The number of the record.
  number bigint NOT NULL
);
CREATE UNIQUE INDEX tollgate_search_terms ON ${schema}.tollgate_search (term, number DESC);
-- A primary key cannot be in this order. Without one, a table that is replicated logically would refuse deletes.
ALTER TABLE ${schema}.tollgate_search REPLICA IDENTITY USING INDEX tollgate_search_terms;

-- The total is kept, because a commit may check it.
CREATE TABLE ${schema}.tollgate_terms (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  term text COLLATE "C" NOT NULL UNIQUE,
  total bigint NOT NULL
) WITH (fillfactor = 70);

-- The records that have a term, as one bit per number: intersecting fifty thousand records is a matter of fifty rows.
-- A row is there if it has a bit that is set.
CREATE TABLE ${schema}.tollgate_postings (
  term bigint NOT NULL,
  -- The number of its first record, divided by the number of bits.
  chunk bigint NOT NULL,
  records bit(${chunkSize}) NOT NULL,
  PRIMARY KEY (term, chunk)
) WITH (fillfactor = 70);

-- Half of each page is free for new versions of its rows, which then need no new entries in the indexes.
CREATE TABLE ${schema}.tollgate_counters (
  name text COLLATE "C" PRIMARY KEY,
  original_name text,
  value bigint NOT NULL,
  expires bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX tollgate_counters_expires ON ${schema}.tollgate_counters (expires);

CREATE TABLE ${schema}.tollgate_replays (
  id text COLLATE "C" PRIMARY KEY,
  -- What the store reads as JSON: id, fingerprint, result, and the record or counter of each number.
  content text NOT NULL,
  -- The version of each record and the total of each counter, in the order of the changes.
  numbers bigint[] NOT NULL,
  expires bigint NOT NULL
);
CREATE INDEX tollgate_replays_expires ON ${schema}.tollgate_replays (expires);

-- The last batch of each open store and its outcomes. A store sends the batches of a partition one after another, so
-- a batch with a lost reply is applied once.
CREATE TABLE ${schema}.tollgate_writers (
  partition bigint NOT NULL,
  writer uuid NOT NULL,
  batch bigint NOT NULL,
  outcomes bigint[] NOT NULL,
  replays jsonb,
  expires bigint NOT NULL,
  PRIMARY KEY (partition, writer)
) WITH (fillfactor = 50);
CREATE INDEX tollgate_writers_expires ON ${schema}.tollgate_writers (expires);
`
