import { Context } from "effect"

/** Whether the documentation is served, and whether the OpenAPI description requires authentication. */
export type DocsOption = boolean | "protected"

/** The option `docs`. */
export const Docs = Context.Reference<DocsOption>("@tollgate/core/http/Docs", { defaultValue: () => true })
