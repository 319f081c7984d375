/**
 * The function that searches. It runs in the snapshot of the statement that calls it (STABLE).
 */
import { functionSettings } from "./commitFunction.ts"
import { lookUp, recordId, scoped } from "./names.ts"

export const searchFunction = (schema: string): string => `
-- For each query at most "count" search terms, from from_term on, and before end_term if it is given. A row has the
-- position of its query, the term and the record's number, key, parent and header; the header is what the caller needs if
-- the key or the parent has another form in the table.
CREATE OR REPLACE FUNCTION ${schema}.tollgate_search_terms(
  partition_name text, from_terms text[], end_terms text[], counts bigint[]
) RETURNS TABLE ("position" bigint, term text, number bigint, key text, parent text, header text)
LANGUAGE plpgsql STABLE${functionSettings}
AS $function$
DECLARE
  partition_id bigint;
BEGIN
  SELECT p.id INTO partition_id FROM ${schema}.tollgate_partitions p WHERE p.name = partition_name;
  RETURN QUERY SELECT q.position, substr(s.term, length(partition_id::text) + 2), s.number,
      substr(r.key, length(partition_id::text) + 2), r.parent,
      CASE WHEN starts_with(r.key, ${scoped("chr(1)")}) OR starts_with(r.parent, chr(1)) THEN r.header END
    FROM unnest(from_terms, end_terms, counts) WITH ORDINALITY q (from_term, end_term, count, position)
    -- A semicolon is the character after the colon that ends the id of the partition.
    CROSS JOIN LATERAL (
      SELECT s.term, s.number FROM ${schema}.tollgate_search s
      WHERE s.term >= ${scoped("q.from_term")} AND s.term < coalesce(${scoped("q.end_term")}, partition_id::text || ';')
      ORDER BY s.term, s.number DESC LIMIT q.count
    ) s
    CROSS JOIN ${lookUp(`${schema}.tollgate_records`, "r", "r.*", `r.id = ${recordId("s.number")}`)}
    ORDER BY q.position, s.term, s.number DESC;
END
$function$;
`
