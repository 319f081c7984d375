import { omitUndefined } from "@tollgate/store/internal"
import { Effect } from "effect"
import { Principal } from "../access/Principal.ts"

/** Describes the caller of the request. */
export const getCaller = () =>
  Effect.map(Principal, ({ account, access, id, name, permissions }) =>
    omitUndefined({ accountName: account, access, id, name, permissions })
  )
