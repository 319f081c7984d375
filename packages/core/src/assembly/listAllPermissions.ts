import { Effect } from "effect"
import { listPermissions } from "../api/listPermissions.ts"
import { Modules } from "../modules/Modules.ts"
import { declareAll } from "./coreDeclaration.ts"

/** The permissions that operations of core and of all modules need. */
export const listAllPermissions: Effect.Effect<ReadonlyArray<string>> = Effect.map(Modules, (modules) =>
  listPermissions(declareAll(modules).descriptions)
)
