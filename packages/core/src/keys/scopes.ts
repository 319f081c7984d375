/**
 * Scopes of keys.
 */
import { Schema } from "effect"

export const RequiredScopes = Schema.Array(
  Schema.String.pipe(Schema.check(Schema.isPattern(/^[A-Za-z0-9_.:-]{1,128}$/u)))
).pipe(Schema.check(Schema.isMaxLength(50)))

export const findMissingScopes = (
  granted: ReadonlyArray<string> | undefined,
  required: ReadonlyArray<string>
): ReadonlyArray<string> =>
  required.filter(
    (scope) =>
      !(granted ?? []).some((grant) => grant === scope || (grant.endsWith("*") && scope.startsWith(grant.slice(0, -1))))
  )
