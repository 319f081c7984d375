/**
 * What an API key may be used for. The names are yours: Tollgate compares them and gives them no meaning.
 */

import { noDuplicates } from "@tollgate/store/internal"
import { Schema } from "effect"

const Name = /[A-Za-z0-9_.:-]/.source

/** A scope that a request needs, such as `orders:read`. */
export const ScopeName = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(new RegExp(`^${Name}{1,128}$`, "u"), {
      expected: "1 to 128 of the characters A-Z a-z 0-9 _ . : -"
    })
  )
)

/** A scope that a key has: a name, or a wildcard. `orders:*` grants every name that begins with `orders:`, `*` all. */
export const Scope = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(new RegExp(`^(?:${Name}{1,128}|${Name}{0,126}:\\*|\\*)$`, "u"), {
      expected: "1 to 128 of the characters A-Z a-z 0-9 _ . : -, with * only alone or after a final colon"
    })
  )
)

const makeScopeList = (scope: typeof Scope) =>
  Schema.Array(scope).pipe(Schema.check(Schema.isMaxLength(50), noDuplicates))

/** The scopes of a key. An empty list counts as none. */
export const Scopes = makeScopeList(Scope)

/** The scopes that a request needs. */
export const RequiredScopes = makeScopeList(ScopeName)
