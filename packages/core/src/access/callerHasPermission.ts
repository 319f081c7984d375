import { Effect, Option } from "effect"
import { Principal } from "./Principal.ts"
import { hasPermission } from "./permissions.ts"

/** Whether the caller of the HTTP API has a permission, to be told more. A call in process has no caller: `false`. */
export const callerHasPermission = (permission: string): Effect.Effect<boolean> =>
  Effect.map(
    Effect.serviceOption(Principal),
    Option.exists((principal) => hasPermission(principal, permission))
  )

/** Whether the caller may see something. A call in process has no caller, and may see everything. */
export const callerMaySee = (permission: string): Effect.Effect<boolean> =>
  Effect.map(
    Effect.serviceOption(Principal),
    Option.match({ onNone: () => true, onSome: (principal) => hasPermission(principal, permission) })
  )
