/**
 * The functions that read. Each runs in the snapshot of the statement that calls it (STABLE), and takes names of several
 * partitions, so that all calls of one turn of the event loop need one round trip. `position` is that of the name.
 */
import { functionSettings } from "./commitFunction.ts"
import { chunkSize, lookUp, recordId, scoped } from "./names.ts"

export const readFunctions = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.tollgate_get(partition_names text[], keys text[])
RETURNS TABLE ("position" bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body
    FROM unnest(partition_names, keys) WITH ORDINALITY n (partition, key, position)
    CROSS JOIN ${lookUp(`${schema}.tollgate_partitions`, "p", "p.id", "p.name = n.partition")}
    CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.key = ${scoped("n.key", "p.id")}`)};
END
$function$;

CREATE OR REPLACE FUNCTION ${schema}.tollgate_get_by_unique_key(partition_names text[], unique_keys text[])
RETURNS TABLE (
  "position" bigint, version bigint, header text, body text,
  parent_version bigint, parent_header text, parent_body text
) LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body, parent.version, parent.header, parent.body
    FROM unnest(partition_names, unique_keys) WITH ORDINALITY n (partition, unique_key, position)
    CROSS JOIN ${lookUp(`${schema}.tollgate_partitions`, "p", "p.id", "p.name = n.partition")}
    CROSS JOIN ${lookUp(
      `${schema}.tollgate_unique_keys`,
      "u",
      "u.record",
      `u.unique_key = ${scoped("n.unique_key", "p.id")}`
    )}
    CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", "r.id = u.record")}
    LEFT JOIN ${lookUp(
      `${schema}.tollgate_records`,
      "parent",
      "parent.*",
      `parent.key = ${scoped("r.parent", "p.id")}`
    )} ON true;
END
$function$;

CREATE OR REPLACE FUNCTION ${schema}.tollgate_get_counters(partition_names text[], names text[])
RETURNS TABLE ("position" bigint, value bigint) LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, c.value
    FROM unnest(partition_names, names) WITH ORDINALITY n (partition, name, position)
    CROSS JOIN ${lookUp(`${schema}.tollgate_partitions`, "p", "p.id", "p.name = n.partition")}
    CROSS JOIN ${lookUp(`${schema}.tollgate_counters`, "c", "c.*", `c.name = ${scoped("n.name", "p.id")}`)}
    WHERE c.expires > (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END
$function$;

-- One page of the records that have all terms. The first row has the total, and no record if the page is empty.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_list(
  partition_name text, term_names text[], skip bigint, count bigint, is_descending boolean
) RETURNS TABLE (total bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
DECLARE
  partition_id bigint;
  terms bigint[];
  -- The chunks in which there are records that have all terms, and those records as bits.
  chunks bigint[];
  matches bit(${chunkSize})[];
  -- The page in order of creation: how many records come before it, and how many it has.
  before bigint;
  size bigint;
  -- How many records come before the first chunk of the page.
  preceding bigint;
  numbers bigint[];
BEGIN
  SELECT p.id INTO partition_id FROM ${schema}.tollgate_partitions p WHERE p.name = partition_name;
  SELECT array_agg(t.id) INTO terms
    FROM unnest(term_names) n (term)
    CROSS JOIN ${lookUp(`${schema}.tollgate_terms`, "t", "t.id", `t.term = ${scoped("n.term")}`)};
  total := 0;
  IF terms IS NOT NULL AND cardinality(terms) = cardinality(term_names) THEN
    SELECT array_agg(c.chunk ORDER BY c.chunk), array_agg(c.records ORDER BY c.chunk), sum(bit_count(c.records))
      INTO chunks, matches, total
      FROM (
        SELECT p.chunk, bit_and(p.records) AS records FROM ${schema}.tollgate_postings p WHERE p.term = ANY (terms)
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
    SELECT m.chunk * ${chunkSize} + word * 64 + bit FROM unnest(chunks, matches) m (chunk, records)
    CROSS JOIN generate_series(0, ${chunkSize / 64 - 1}) word
    CROSS JOIN generate_series(0, 63) bit
    WHERE substring(m.records FROM word * 64 + 1 FOR 64) <> 0::bit(64) AND get_bit(m.records, word * 64 + bit) = 1
    ORDER BY 1 OFFSET before - preceding LIMIT size
  );
  IF is_descending THEN
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(numbers) n (number)
      CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.id = ${recordId("n.number")}`)} ORDER BY n.number DESC;
  ELSE
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(numbers) n (number)
      CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.id = ${recordId("n.number")}`)} ORDER BY n.number;
  END IF;
END
$function$;
`
