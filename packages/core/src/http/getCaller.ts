import { Effect } from "effect"
import { Principal } from "../access/Principal.ts"

/** Describes the caller of the request. */
export const getCaller = () =>
  Effect.map(Principal, ({ account, access, id }) => ({ accountName: account, access, id }))
