/**
 * Permissions, such as `consumers:write`: an area, and what one may do in it. Each operation declares the one that it needs.
 */

/** What decisions tell about customers is not for everyone who may read. */
const isPlainRead = (needed: string): boolean => needed.endsWith(":read") && needed !== "decisions:read"

/** What people do who answer customers, beside reading. */
const supportWork: ReadonlyArray<string> = [
  "consumers:disable",
  "decisions:read",
  "grants:write",
  "keys:disable",
  "keys:roll",
  "portal:write",
  "subscriptions:write"
]

/** Each role includes those before it. */
const roles: ReadonlyArray<readonly [name: string, includes: (needed: string) => boolean]> = [
  ["viewer", isPlainRead],
  ["support", (needed) => isPlainRead(needed) || supportWork.includes(needed)],
  ["admin", () => true]
]
const findRole = (granted: string): number => roles.findIndex(([name]) => name === granted)

/**
 * Whether one of the permissions includes the one that is needed. `write` includes everything in its area but `reveal`,
 * which shows the values of keys; `area:*` is all of an area, `*` is all. The name of a role stands for its permissions.
 */
const includes = (granted: string, needed: string): boolean => {
  if (granted === "*" || granted === needed) return true
  const role = roles[findRole(granted)]
  if (role !== undefined) return role[1](needed)
  const [neededArea, neededAction] = needed.split(":")
  const [area, action] = granted.split(":")
  return area === neededArea && (action === "*" || (action === "write" && neededAction !== "reveal"))
}

/** What a credential with `read` or `write` may do: `write` is all but managing tokens, `read` can also verify keys. */
const isInAccess = (access: "read" | "write", needed: string): boolean =>
  access === "write" ? !needed.startsWith("tokens:") : isPlainRead(needed) || needed === "authorize"

/** What a credential may do: its permissions or, if it has none, its access. */
export interface Grant {
  readonly access: "read" | "write"
  readonly permissions?: ReadonlyArray<string>
}

/** Whether a credential may do what needs this permission. */
export const hasPermission = ({ access, permissions }: Grant, needed: string): boolean =>
  permissions === undefined ? isInAccess(access, needed) : permissions.some((granted) => includes(granted, needed))

/**
 * Whether a credential includes all that another permission or role will ever include. A role, and all of an area, may gain
 * permissions, so single ones do not add up to them.
 */
export const canGrant = ({ permissions = [] }: Grant, given: string): boolean =>
  permissions.some((granted) => {
    if (granted === "*" || granted === "admin" || granted === given) return true
    const role = findRole(given)
    if (role >= 0) return findRole(granted) > role
    return given !== "*" && !given.endsWith(":*") && includes(granted, given)
  })

/** Those of `permissions` that no operation needs. `known` are those that operations need. */
export const findUnknown = (permissions: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined => {
  const areas = new Set(known.map((permission) => permission.split(":")[0]))
  return permissions.find((permission) => {
    const [area, action = ""] = permission.split(":")
    const isOfArea = areas.has(area) && ["*", "read", "write"].includes(action)
    return permission !== "*" && findRole(permission) < 0 && !isOfArea && !known.includes(permission)
  })
}

/** The form of a permission, or the name of a role. */
export const permissionPattern = /^(?:\*|[a-z][a-z-]*(?::(?:[a-z]+|\*))?)$/

/** Whether permissions allow more than to read, for those who only ask that. */
export const toAccess = (permissions: ReadonlyArray<string>): Grant["access"] =>
  permissions.every((granted) => /:read$|^authorize$|^viewer$/.test(granted)) ? "read" : "write"
