/**
 * The contract that every Tollgate store must pass, as tests for authors of stores.
 */
export type { Concern, ContractCase } from "./ContractCase.ts"
export { type Fault, type FaultyStore, makeFaultyStore } from "./FaultyStore.ts"
export * as ReferenceModel from "./ReferenceModel.ts"
export { type PartitionSnapshot, type Snapshot, StoreState, stateHash } from "./StoreState.ts"
export { contractCases, storeContract } from "./storeContract.ts"
