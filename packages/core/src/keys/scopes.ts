/**
 * Decides whether the scopes of a key suffice for a request.
 */
const covers = (granted: string, required: string): boolean =>
  granted === required || granted === "*" || (granted.endsWith(":*") && required.startsWith(granted.slice(0, -1)))

/** The required scopes that a key does not have. A key without scopes has none of them. */
export const findMissingScopes = (
  granted: ReadonlyArray<string> | undefined,
  required: ReadonlyArray<string>
): ReadonlyArray<string> => required.filter((scope) => !granted?.some((grant) => covers(grant, scope)))
