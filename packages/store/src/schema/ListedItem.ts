/**
 * An item in a list of what exists, such as the list of accounts: its name, and since when it exists.
 */
import { Schema } from "effect"
import { Timestamp } from "./Timestamp.ts"

/** The identifier is the public name in the OpenAPI description. */
export const ListedItem = <Name extends Schema.Top>(name: Name, identifier: string) =>
  Schema.Struct({ name, createdOn: Timestamp }).annotate({ identifier })

/** An item of a list of names, such as an account or a project, as plain JSON. */
export interface ListedItemJson {
  readonly name: string
  readonly createdOn: string
}
