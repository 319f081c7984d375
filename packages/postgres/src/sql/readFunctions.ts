/**
 * The functions that read. Each runs in the snapshot of the statement that calls it (STABLE), and takes names of several
 * partitions, so that all calls of one turn of the event loop need one round trip. `position` is that of the name.
 */
import { planSettings, scoped } from "./commitFunction.ts"

export const readFunctions = (schema: string): string => `
CREATE FUNCTION ${schema}.tollgate_get(partition_names text[], keys text[])
RETURNS TABLE ("position" bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE${planSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body
    FROM unnest(partition_names, keys) WITH ORDINALITY n (partition, key, position)
    JOIN ${schema}.tollgate_partitions p ON p.name = n.partition
    JOIN ${schema}.tollgate_records r ON r.key = ${scoped("n.key", "p.id")};
END
$function$;

CREATE FUNCTION ${schema}.tollgate_get_by_unique_key(partition_names text[], unique_keys text[])
RETURNS TABLE (
  "position" bigint, version bigint, header text, body text,
  parent_version bigint, parent_header text, parent_body text
) LANGUAGE plpgsql STABLE${planSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, r.version, r.header, r.body, parent.version, parent.header, parent.body
    FROM unnest(partition_names, unique_keys) WITH ORDINALITY n (partition, unique_key, position)
    JOIN ${schema}.tollgate_partitions p ON p.name = n.partition
    JOIN ${schema}.tollgate_unique_keys u ON u.unique_key = ${scoped("n.unique_key", "p.id")}
    JOIN ${schema}.tollgate_records r ON r.id = u.record
    LEFT JOIN ${schema}.tollgate_records parent ON parent.key = ${scoped("r.parent", "p.id")};
END
$function$;

CREATE FUNCTION ${schema}.tollgate_get_counters(partition_names text[], names text[])
RETURNS TABLE ("position" bigint, value bigint) LANGUAGE plpgsql STABLE${planSettings}
AS $function$
BEGIN
  RETURN QUERY SELECT n.position, c.value
    FROM unnest(partition_names, names) WITH ORDINALITY n (partition, name, position)
    JOIN ${schema}.tollgate_partitions p ON p.name = n.partition
    JOIN ${schema}.tollgate_counters c ON c.name = ${scoped("n.name", "p.id")}
    WHERE c.expires > (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END
$function$;

-- The records that have both terms and all others, in order of creation. Merges two ranges of one index.
CREATE FUNCTION ${schema}.tollgate_intersect(first_term bigint, second_term bigint, other_terms bigint[])
RETURNS bigint[] LANGUAGE plpgsql STABLE
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_nestloop = off
  SET enable_mergejoin = on
  SET enable_hashjoin = off
  SET enable_sort = off
AS $function$
BEGIN
  RETURN ARRAY(
    SELECT a.record FROM ${schema}.tollgate_postings a
    JOIN ${schema}.tollgate_postings b ON b.record = a.record
    WHERE a.term = first_term AND b.term = second_term AND (cardinality(other_terms) = 0 OR (
      SELECT count(*) FROM ${schema}.tollgate_postings o WHERE o.term = ANY (other_terms) AND o.record = a.record
    ) = cardinality(other_terms))
    ORDER BY a.record
  );
END
$function$;

-- One page of the records that have all terms. The first row has the total, and no record if the page is empty.
CREATE FUNCTION ${schema}.tollgate_list(
  partition_name text, term_names text[], skip bigint, count bigint, is_descending boolean
) RETURNS TABLE (total bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE${planSettings}
AS $function$
DECLARE
  partition_id bigint;
  terms bigint[];
  totals bigint[];
  matches bigint[];
  -- The page in order of creation: how many records come before it, how many it has, how many come after it.
  before bigint;
  size bigint;
  after bigint;
BEGIN
  SELECT p.id INTO partition_id FROM ${schema}.tollgate_partitions p WHERE p.name = partition_name;
  SELECT array_agg(t.id ORDER BY t.total), array_agg(t.total ORDER BY t.total) INTO terms, totals
    FROM unnest(term_names) n (term) JOIN ${schema}.tollgate_terms t ON t.term = ${scoped("n.term")};
  IF terms IS NULL OR cardinality(terms) < cardinality(term_names) THEN
    total := 0;
    RETURN NEXT;
    RETURN;
  END IF;

  IF cardinality(terms) = 1 THEN
    total := totals[1];
  ELSE
    IF totals[1] * 10 < totals[2] THEN
      -- Few records have the rarest term: look each of them up.
      matches := ARRAY(
        SELECT a.record FROM ${schema}.tollgate_postings a WHERE a.term = terms[1] AND (
          SELECT count(*) FROM ${schema}.tollgate_postings o WHERE o.term = ANY (terms[2:]) AND o.record = a.record
        ) = cardinality(terms) - 1
        ORDER BY a.record
      );
    ELSE
      matches := ${schema}.tollgate_intersect(terms[1], terms[2], terms[3:]);
    END IF;
    total := cardinality(matches);
  END IF;

  size := greatest(0, least(count, total - skip));
  IF size = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  before := CASE WHEN is_descending THEN total - skip - size ELSE skip END;
  after := total - before - size;
  IF matches IS NOT NULL THEN
    matches := matches[before + 1 : before + size];
  ELSIF before <= after THEN
    matches := ARRAY(SELECT p.record FROM ${schema}.tollgate_postings p WHERE p.term = terms[1]
      ORDER BY p.record OFFSET before LIMIT size);
  ELSE
    matches := ARRAY(SELECT p.record FROM ${schema}.tollgate_postings p WHERE p.term = terms[1]
      ORDER BY p.record DESC OFFSET after LIMIT size);
  END IF;
  IF is_descending THEN
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(matches) m (record)
      JOIN ${schema}.tollgate_records r ON r.id = m.record ORDER BY m.record DESC;
  ELSE
    RETURN QUERY SELECT tollgate_list.total, r.version, r.header, r.body FROM unnest(matches) m (record)
      JOIN ${schema}.tollgate_records r ON r.id = m.record ORDER BY m.record;
  END IF;
END
$function$;
`
