/** What a token or a session may do, in words. */
interface Grant {
  readonly access?: "read" | "write" | undefined
  readonly permissions?: ReadonlyArray<string> | undefined
}

export const mayAll = ({ permissions = [] }: Grant): boolean =>
  permissions.some((permission) => permission === "*" || permission === "admin")

export const describeGrant = ({ access, permissions }: Grant): string => {
  if (permissions === undefined) return access === "write" ? "everything but tokens" : "reading"
  return permissions.includes("*") ? "everything" : permissions.join(", ")
}

export const roles = [
  { value: "viewer", label: "viewer: may look at everything but keys' values" },
  { value: "support", label: "support: also stops and rolls keys, gives credit, changes subscriptions" },
  { value: "admin", label: "admin: may do everything" },
  { value: "", label: "single permissions" }
]

const permissionPattern = /^(?:\*|[a-z][a-z-]*(?::(?:[a-z]+|\*))?)$/

export const parsePermissions = (text: string): ReadonlyArray<string> => [
  ...new Set(text.split(/[\s,]+/).filter((permission) => permission !== ""))
]

/** What is wrong with permissions, if anything. */
export const checkPermissions = (text: string): string | undefined => {
  const permissions = parsePermissions(text)
  if (permissions.length === 0) return "Write at least one, such as consumers:read."
  const wrong = permissions.find((permission) => !permissionPattern.test(permission))
  return wrong === undefined ? undefined : `“${wrong}” is no permission. Write them like consumers:read.`
}
