/**
 * Annotations of endpoints. `describeOperations.ts` throws if an endpoint has no owner.
 */
import { Context } from "effect"

/**
 * To whom the resource of an endpoint belongs, and so which callers may use it:
 *
 * - `account`: the account in the path
 * - `request`: the `accountName` in the body or the query; by default the caller's account
 * - `metering-bucket`: the account of the metering bucket in the path
 * - `deployment`: the account of the deployment in the path
 * - `all-accounts`: no single account, so only callers for all accounts may use it
 * - `caller`: the caller itself
 * - `none`: anyone may call it
 */
export type OwnerKind = "account" | "request" | "metering-bucket" | "deployment" | "all-accounts" | "caller" | "none"

export class Owner extends Context.Service<Owner, OwnerKind>()("@tollgate/core/api/Owner") {}

/** Maximum bytes of a body that is always short, so that it costs little to read. */
export const shortBody = 4_096

/** Maximum bytes of an endpoint's body, if it is less than `bodyLimit`. */
export const BodyLimit = Context.Reference<number | undefined>("@tollgate/core/api/BodyLimit", {
  defaultValue: () => undefined
})

/** Marks an endpoint as read-only although its method is not GET, so that read-only credentials may call it. */
export const IsReadOnly = Context.Reference<boolean>("@tollgate/core/api/IsReadOnly", { defaultValue: () => false })
