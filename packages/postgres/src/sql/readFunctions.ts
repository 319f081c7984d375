/**
 * The functions that read. Each runs in the snapshot of the statement that calls it (STABLE), and takes names of several
 * partitions, so that all calls of one turn of the event loop need one round trip. `position` is that of the name.
 */
import { functionSettings } from "./commitFunction.ts"
import { lookUp, scoped } from "./names.ts"

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
`
