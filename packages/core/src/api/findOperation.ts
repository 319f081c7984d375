import type { Effect } from "effect"
import type { AnyRequest } from "./AnyRequest.ts"
import type { OperationDescription } from "./describeOperations.ts"

/** An operation whose types are known only to its declaration. */
export type AnyOperation = (request: AnyRequest) => Effect.Effect<unknown, unknown>

/** Finds the implementation of an operation among those of all groups, by its description. */
export const findOperation = (
  operations: object,
  { group, name }: Pick<OperationDescription, "group" | "name">
): AnyOperation | undefined =>
  (operations as Readonly<Record<string, Readonly<Record<string, AnyOperation>> | undefined>>)[group]?.[name]
