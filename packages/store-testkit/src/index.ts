/**
 * The contract that every Tollgate store passes, published so that anybody can write an adapter.
 */
export type { Concern, ContractCase } from "./ContractCase.ts"
export { type Fault, type FaultyStore, makeFaulty } from "./FaultyStore.ts"
export * as ReferenceModel from "./ReferenceModel.ts"
export { type PartitionPicture, type Picture, StoreState, stateHash } from "./StoreState.ts"
export { contractCases, storeContract } from "./storeContract.ts"
