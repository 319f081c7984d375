/**
 * The function that lists. It runs in the snapshot of the statement that calls it (STABLE).
 */
import { maxPageBytes } from "@tollgate/store"
import { functionSettings } from "./commitFunction.ts"
import { chunkSize, lookUp, recordId, scoped } from "./names.ts"

export const pageFunction = (schema: string): string => `
-- One page of the records that have all terms, after the record with the number "after" if it is given. It ends with the
-- record with which its bodies have ${maxPageBytes} bytes. An empty page is a row with the total and no record. The column
-- "next" is the number of a record that others follow.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_page(
  partition_name text, term_names text[], skip bigint, count bigint, is_descending boolean, after bigint
) RETURNS TABLE (total bigint, next bigint, version bigint, header text, body text) LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
DECLARE
  partition_id bigint;
  terms bigint[];
  -- The chunks in which there are records that have all terms, and those records as bits.
  chunks bigint[];
  matches bit(${chunkSize})[];
  -- How many records come before "after" and are passed, in the order of the page.
  passed bigint := 0;
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
  IF total > 0 AND after IS NOT NULL THEN
    -- A bit string begins with the record of the lowest number.
    SELECT coalesce(sum(CASE
        WHEN m.chunk = after / ${chunkSize} THEN bit_count(substring(m.records FROM 1 FOR (after % ${chunkSize} + included)::integer))
        WHEN m.chunk < after / ${chunkSize} THEN bit_count(m.records)
        ELSE 0 END), 0)
      INTO passed
      FROM unnest(chunks, matches) m (chunk, records)
      CROSS JOIN (SELECT CASE WHEN is_descending THEN 0 ELSE 1 END AS included) i;
    IF is_descending THEN passed := total - passed; END IF;
  END IF;

  size := greatest(0, least(count, total - passed - skip));
  IF size = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  before := CASE WHEN is_descending THEN total - passed - skip - size ELSE passed + skip END;
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
  RETURN QUERY
    SELECT tollgate_page.total, CASE WHEN c.place < tollgate_page.total - passed - skip THEN c.number END,
      c.version, c.header, c.body
    FROM (
      SELECT n.number, r.version, r.header, r.body, row_number() OVER page AS place,
        sum(octet_length(r.body)) OVER page - octet_length(r.body) AS bytes_before
      FROM unnest(numbers) n (number)
      CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.id = ${recordId("n.number")}`)}
      WINDOW page AS (ORDER BY CASE WHEN is_descending THEN -n.number ELSE n.number END ROWS UNBOUNDED PRECEDING)
    ) c
    WHERE c.bytes_before < ${maxPageBytes} ORDER BY c.place;
END
$function$;

-- For processes of the previous release, which go on while a new one migrates.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_list(
  partition_name text, term_names text[], skip bigint, count bigint, is_descending boolean
) RETURNS TABLE (total bigint, version bigint, header text, body text) LANGUAGE sql STABLE${functionSettings}
AS $function$
  SELECT p.total, p.version, p.header, p.body
    FROM ${schema}.tollgate_page(partition_name, term_names, skip, count, is_descending, NULL) p
$function$;
`
