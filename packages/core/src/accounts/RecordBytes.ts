import type { StoreUnavailable } from "@tollgate/store/internal"
import { Context, type Effect } from "effect"

/** The bytes of the records that each account has. */
export class RecordBytes extends Context.Service<
  RecordBytes,
  {
    /** The bytes as all processes have counted them, up to a second ago, and as this one has until now. */
    readonly read: (accountName: string) => Effect.Effect<number, StoreUnavailable>
  }
>()("@tollgate/core/accounts/RecordBytes") {}
