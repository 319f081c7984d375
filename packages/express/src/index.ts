/**
 * Tollgate in Express: the whole interface as router middleware, and routes protected by an API key.
 */
import type { Tollgate } from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"
import type { RequestHandler } from "express"

export { type RequestConsumer, type RequireApiKeyOptions, requireApiKey } from "./requireApiKey.ts"

/** The whole interface, mounted at any path: `app.use("/api/dev", tollgate(gate))`. Other paths are passed on. */
export const tollgate = (gate: Tollgate): RequestHandler => toNodeHandler(gate)
