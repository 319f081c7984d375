/**
 * `tollgate/postgres`: the store in PostgreSQL.
 */
export * from "@tollgate/postgres"
