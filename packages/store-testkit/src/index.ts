/**
 * The contract that every Tollgate store passes, published so that anybody can write an adapter.
 */
export type { Concern, ContractCase } from "./ContractCase.ts"
export { type Fault, type FaultyStore, makeFaultyStore } from "./FaultyStore.ts"
export * as ReferenceModel from "./ReferenceModel.ts"
export { type PartitionSnapshot, type Snapshot, StoreState, stateHash } from "./StoreState.ts"
export { contractCases, storeContract } from "./storeContract.ts"
