/**
 * `tollgate/memory`: the in-memory store.
 */
export * from "@tollgate/memory"
