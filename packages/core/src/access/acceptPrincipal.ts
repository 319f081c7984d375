/**
 * Accepts what the host's `authenticate` returned. Anything but a valid principal leaves the request unauthenticated; the
 * log says so, unless `authenticate` returned nothing.
 */
import { Effect, Schema } from "effect"
import { Unauthorized } from "./AccessError.ts"
import { PrincipalShape } from "./Principal.ts"

const isPrincipal = Schema.is(PrincipalShape)

/** The names of the wrong fields, without their values. */
const describeProblem = (principal: unknown): string => {
  if (typeof principal !== "object" || principal === null) return `it is a ${typeof principal}`
  const wrong = Object.entries(PrincipalShape.fields).filter(
    ([name, field]) => !Schema.is(field as Schema.Top)((principal as Readonly<Record<string, unknown>>)[name])
  )
  return `missing or invalid: ${wrong.map(([name]) => `\`${name}\``).join(", ")}`
}

export const acceptPrincipal = (principal: unknown): Effect.Effect<PrincipalShape, Unauthorized> => {
  if (isPrincipal(principal)) {
    const { id, account, access } = principal
    return Effect.succeed({ id, account, access })
  }
  const refuse = Effect.fail(new Unauthorized())
  if (principal === undefined || principal === null || principal === false) return refuse
  const message = `authenticate returned an invalid principal, so the request was refused: ${describeProblem(principal)}. Return { id, account, access }, or nothing`
  return Effect.andThen(Effect.logWarning(message), refuse)
}
