/**
 * An item in a list of what exists, such as the list of accounts: its name, and since when it exists.
 */
import { Schema } from "effect"
import { Timestamp } from "./Timestamp.ts"

/** The identifier is the public name in the OpenAPI description. */
export const ListedItem = <Name extends Schema.Top>(name: Name, identifier: string) =>
  Schema.Struct({ name, createdOn: Timestamp }).annotate({ identifier })

/** As plain JSON, as the promise API returns it. */
export interface ListedItemJson {
  readonly name: string
  readonly createdOn: string
}
