/**
 * Annotations of endpoints. `describeOperations.ts` throws if an endpoint has no owner.
 */
import { Context } from "effect"
import type { AnyRequest } from "./AnyRequest.ts"

/**
 * To whom the resource of an endpoint belongs, and so which callers may use it:
 *
 * - `account`: the account in the path
 * - `request`: the `accountName` in the body or the query; by default the caller's account
 * - `all-accounts`: no single account, so only callers for all accounts may use it
 * - `caller`: the caller itself
 * - `none`: anyone may call it
 * - every other one, such as `metering-bucket`, is a resource in the path that knows its account: see `checkOwner.ts`
 */
export type OwnerKind = "account" | "request" | "all-accounts" | "caller" | "none" | (string & {})

/** The annotation of an endpoint that says to whom its resource belongs. */
export class Owner extends Context.Service<Owner, OwnerKind>()("@tollgate/core/api/Owner") {}

/** The area of a group of endpoints. What a caller needs is `area:read` or `area:write`, unless an endpoint says otherwise. */
export const Area = Context.Reference<string | undefined>("@tollgate/core/api/Area", { defaultValue: () => undefined })

/** The permission that an endpoint needs, if it is not that of its area. */
export const Permission = Context.Reference<string | undefined>("@tollgate/core/api/Permission", {
  defaultValue: () => undefined
})

/** Marks an endpoint that needs no permission, because each caller gets only what its permissions allow. */
export const NeedsNoPermission = Context.Reference<boolean>("@tollgate/core/api/NeedsNoPermission", {
  defaultValue: () => false
})

/** Permissions, each with the requests that it is about. */
export type PermissionsByRequest = Readonly<Record<string, (request: AnyRequest) => boolean>>

/** What some requests of an endpoint need beside its permission, such as one to see the values of keys. */
export const FurtherPermissions = Context.Reference<PermissionsByRequest>("@tollgate/core/api/FurtherPermissions", {
  defaultValue: () => ({})
})

/** Permissions that are enough for some requests of an endpoint, for those who lack its own. */
export const NarrowPermissions = Context.Reference<PermissionsByRequest>("@tollgate/core/api/NarrowPermissions", {
  defaultValue: () => ({})
})

/** Permissions with which a caller is told more. */
export const OptionalPermissions = Context.Reference<ReadonlyArray<string>>("@tollgate/core/api/OptionalPermissions", {
  defaultValue: () => []
})

/**
 * Opens an endpoint to customers in their portal, who need one of these; every session has access if there are none. An
 * endpoint without it is closed to them.
 */
export const Portal = Context.Reference<ReadonlyArray<string> | undefined>("@tollgate/core/api/Portal", {
  defaultValue: () => undefined
})

/** Maximum bytes of a body that is always short, so that it costs little to read. */
export const shortBody = 4_096

/** Maximum bytes of an endpoint's body, if it is less than `bodyLimit`. */
export const BodyLimit = Context.Reference<number | undefined>("@tollgate/core/api/BodyLimit", {
  defaultValue: () => undefined
})

/** Marks an endpoint that reads much, and is no list: it takes turns with the lists of its account. */
export const ReadsMuch = Context.Reference<boolean>("@tollgate/core/api/ReadsMuch", { defaultValue: () => false })

/** What the parameters in the paths of endpoints are, if their names do not say it. */
export const PathParameters = Context.Reference<Readonly<Record<string, string>>>("@tollgate/core/api/PathParameters", {
  defaultValue: () => ({})
})

/** Marks an endpoint as read-only although its method is not GET, so that read-only credentials may call it. */
export const IsReadOnly = Context.Reference<boolean>("@tollgate/core/api/IsReadOnly", { defaultValue: () => false })
