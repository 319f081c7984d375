/**
 * The contract that every Tollgate store must pass, as tests for authors of stores.
 */
export type { ContractCase, ContractGroup } from "./contract/ContractCase.ts"
export { ManualClock } from "./contract/ContractTime.ts"
export { type ContractOptions, makeContractCases, storeContract } from "./storeContract.ts"
export { type Fault, type FaultyStore, makeFaultyStore } from "./stores/FaultyStore.ts"
export * as ReferenceModel from "./stores/ReferenceModel.ts"
export { type PartitionSnapshot, type Snapshot, StoreState, stateHash } from "./stores/StoreState.ts"
