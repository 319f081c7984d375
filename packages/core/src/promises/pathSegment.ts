import { invalidParameter } from "../schema/InvalidInput.ts"

/**
 * Checks a name or an id that a URL must carry as one segment of a path. Callers in process have the same rule, so that
 * a client and a Tollgate in process behave alike.
 */
export const parsePathSegment = (parameter: string, value: unknown): string => {
  if (typeof value === "string" && /^(?!\.{1,2}$)[^\0]{1,1024}$/su.test(value) && value.isWellFormed()) return value
  throw invalidParameter(parameter, 'must be a non-empty string of at most 1,024 characters other than "." and ".."')
}
