export { MemoryStore, type MemoryStoreOptions } from "./MemoryStore.ts"
