/**
 * What all errors of Tollgate have in common. Express, Koa and Fastify read `status` from an error that a handler throws.
 * Koa also reads `expose`.
 */

/** On the prototype of every error class. A registered symbol, so that two copies of the package agree on it. */
export const tollgateErrorMarker: unique symbol = Symbol.for("@tollgate/store/TollgateError")

/** What every error of Tollgate has. */
export interface TollgateErrorMembers {
  /** Identifies the kind of error; over HTTP, the last part of the problem's `type`. */
  readonly code: string
  /** The HTTP status of the error. */
  readonly status: number
  /** Whether clients may see the message. */
  readonly expose: boolean
}

/** Whether a value is an error of Tollgate, from any copy of the package. */
export const isTollgateError = (error: unknown): error is TollgateError =>
  typeof error === "object" && error !== null && tollgateErrorMarker in error

/**
 * The type of every error of Tollgate. `error instanceof TollgateError` is the same as `isTollgateError(error)`.
 *
 * @example
 * ```ts
 * try {
 *   await production.consumers.create({ name: "alice" })
 * } catch (error) {
 *   if (isTollgateError(error) && error.code === "consumer-name-taken") console.log("Choose another name")
 * }
 * ```
 */
export abstract class TollgateError extends Error implements TollgateErrorMembers {
  abstract readonly _tag: string
  abstract readonly code: string
  abstract readonly status: number
  abstract readonly expose: boolean

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isTollgateError(value)
  }
}
