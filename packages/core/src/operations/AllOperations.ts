/**
 * The operations of all groups, as HTTP and the promise API call them. In process the services implement them, in a
 * client the HTTP API of another process.
 */
import type { HttpApiGroup } from "effect/http-api"
import { describeOperations, type OperationDescription } from "../api/describeOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { Api } from "./Api.ts"

type Groups = (typeof Api)["groups"]

/** Uploads are not here: they are streams, so each caller handles them by hand. In process there is no caller to describe. */
export type AllOperations = {
  readonly [Name in Exclude<keyof Groups, "uploads" | "access">]: Groups[Name] extends HttpApiGroup.Constraint
    ? Operations<Groups[Name]>
    : never
}

export const descriptions: ReadonlyArray<OperationDescription> = describeOperations(Api)
