/**
 * `tollgate/sqlite`: the store in a SQLite file.
 */
export * from "@tollgate/sqlite"
