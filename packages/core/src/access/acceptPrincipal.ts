/**
 * Accepts what the host's `authenticate` returned. Anything but a valid principal leaves the request unauthenticated; the
 * log says so, unless `authenticate` returned nothing.
 */
import { omitUndefined } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { Unauthorized } from "./AccessError.ts"
import { PrincipalInput, PrincipalShape, toGrant } from "./Principal.ts"

const isPrincipal = Schema.is(PrincipalInput)

/** The names of the wrong fields, without their values. */
const describeProblem = (principal: unknown): string => {
  if (typeof principal !== "object" || principal === null) return `it is a ${typeof principal}`
  const { access, permissions } = principal as Readonly<Record<string, unknown>>
  if (access !== undefined && permissions !== undefined) return "it has both `access` and `permissions`"
  const { name, access: accessField, permissions: permissionsField, ...fields } = PrincipalShape.fields
  const needed = {
    ...fields,
    ...("name" in principal ? { name } : {}),
    ...(permissions === undefined ? { access: accessField } : { permissions: permissionsField })
  }
  const wrong = Object.entries(needed).filter(
    ([name, field]) => !Schema.is(field as Schema.Top)((principal as Readonly<Record<string, unknown>>)[name])
  )
  return `missing or invalid: ${wrong.map(([name]) => `\`${name}\``).join(", ")}`
}

export const acceptPrincipal = (principal: unknown): Effect.Effect<PrincipalShape, Unauthorized> => {
  if (isPrincipal(principal)) {
    const { id, name, account } = principal
    return Effect.succeed(omitUndefined({ id, name, account, ...toGrant(principal) }))
  }
  const refuse = Effect.fail(new Unauthorized())
  if (principal === undefined || principal === null || principal === false) return refuse
  const message = `authenticate returned an invalid principal, so the request was refused: ${describeProblem(principal)}. Return { id, account, access }, with permissions instead of access if you like, or nothing`
  return Effect.andThen(Effect.logWarning(message), refuse)
}
