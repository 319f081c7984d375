import { Context } from "effect"
import type { Module } from "./Module.ts"

/** The modules of a Tollgate. None by default. */
export const Modules = Context.Reference<ReadonlyArray<Module>>("@tollgate/core/modules/Modules", {
  defaultValue: () => []
})
