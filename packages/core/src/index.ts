/**
 * Tollgate's core: every operation as a framework-agnostic service over a store.
 */
export * as Collection from "./store/Collection.ts"
export * as Partition from "./store/Partition.ts"
export * as Refusal from "./store/Refusal.ts"
export * from "./store/Store.ts"
export * from "./store/StoreError.ts"
export { StoreMisuse } from "./store/StoreMisuse.ts"
