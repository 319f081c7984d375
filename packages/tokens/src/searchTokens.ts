/**
 * Finds the tokens of an account by their description and id.
 */
import { type SearchSource, searchRecords } from "@tollgate/core/module"
import { Effect } from "effect"
import { credentialRecords, getTokenSearchFields } from "./credentialRecords.ts"
import { toPartition } from "./credentialValues.ts"

const permission = "tokens:read"

export const searchTokens: SearchSource = ({ accountName, text, limit, maySee }) => {
  if (!maySee(permission)) return Effect.succeed([])
  const found = searchRecords(credentialRecords, toPartition(accountName), {
    text,
    limit,
    scope: accountName,
    getFields: getTokenSearchFields
  })
  return Effect.map(found, (found) =>
    found.flatMap(({ value, matched, isExact }) =>
      value.kind === "token"
        ? [{ permission, type: "token", id: value.id, name: value.description, matched, isExact }]
        : []
    )
  )
}
