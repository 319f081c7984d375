/**
 * Declares the errors of Tollgate. An error is one class: it is thrown in process, encoded as a problem (RFC 9457) over
 * HTTP, and decoded by the client into the same class with the same fields.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { type TollgateErrorMembers, tollgateErrorMarker } from "./TollgateError.ts"

interface ProblemDeclaration<Code extends string, Status extends number, Fields extends Schema.Struct.Fields> {
  /** Identifies the error in `code` and, as `urn:tollgate:problem:<code>`, in `type`. */
  readonly code: Code
  readonly status: Status
  readonly title: string
  /** When the error occurs, for the documentation. The first sentence is also the summary. */
  readonly meaning: string
  /** What the client or the operator does about it, for the documentation. */
  readonly remedy: string
  /** `false` for errors that only occur in process or in the client. Default: `true`. */
  readonly isSentOverHttp?: false
  /** What happened and what to do. Clients see it. */
  readonly detail: (fields: Schema.Struct.Type<Fields>) => string
  /** The name of the schema in the OpenAPI description. Default: the tag, followed by `Problem`. */
  readonly schemaName?: string
}

/** What the documentation says of an error class. */
export interface ErrorDocumentation {
  readonly code: string
  readonly status: number
  readonly meaning: string
  readonly remedy: string
  readonly isSentOverHttp: boolean
}

/** A problem as JSON, with the ID of the request that it responds to. */
export interface ProblemJson {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly [member: string]: unknown
}

const toProblemJson: unique symbol = Symbol.for("@tollgate/store/toProblemJson")

/** Encodes an error as the JSON of its problem. */
export const encodeProblem = (error: object, instance: string): ProblemJson =>
  (error as { readonly [toProblemJson]: (instance: string) => ProblemJson })[toProblemJson](instance)

/** The fields of the problem itself, which an error does not repeat when it is printed. */
const problemMembers: ReadonlySet<string> = new Set(["type", "title", "detail", "instance"])

/** The key of the function that Node's `inspect` and `console.error` call. Not imported, for clients in browsers. */
const inspectCustom = Symbol.for("nodejs.util.inspect.custom")

/**
 * Prints the stack and the fields, as Node prints errors. Effect's classes would print their JSON without a stack. The
 * cause is left out: that of a store may quote stored data.
 */
function inspectError(
  this: Error,
  _depth: number,
  options: object,
  inspect: (value: object, options: object) => string
): string {
  const fields = Object.entries(this).filter(([name]) => !problemMembers.has(name))
  return `${this.stack ?? `${this.name}: ${this.message}`} ${inspect(Object.fromEntries(fields), options)}`
}

/** Makes the base class of an error: its tag, status, title and what the documentation says of it. */
export const defineError =
  <Self>() =>
  <
    const Tag extends string,
    const Code extends string,
    const Status extends number,
    const Fields extends HttpApiError.ProblemExtensionFields = Readonly<Record<never, never>>
  >(
    tag: Tag,
    declaration: ProblemDeclaration<Code, Status, Fields>,
    fields?: Fields
  ): HttpApiError.ProblemClass<
    Self,
    Tag,
    `urn:tollgate:problem:${Code}`,
    Status,
    Fields & { readonly code: Schema.tag<Code> },
    TollgateErrorMembers
  > & { readonly documentation: ErrorDocumentation } => {
    const { code, status, title, detail, meaning, remedy, isSentOverHttp = true } = declaration
    const { schemaName = `${tag}Problem` } = declaration
    const declaredFields = { ...fields, code: Schema.tag(code) }
    const Base = HttpApiError.Problem<Self, TollgateErrorMembers>()(
      tag,
      { type: `urn:tollgate:problem:${code}` as const, status, title },
      declaredFields,
      { identifier: schemaName }
      // biome-ignore lint/suspicious/noExplicitAny: the parameters of the constructor are those of the declared fields
    ) as any
    const struct = Schema.Struct(fields ?? {})
    // A struct without fields would encode the whole error, with what only the operator may see.
    const encodeFields = fields === undefined ? () => ({}) : Schema.encodeUnknownSync(struct)
    class ErrorWithDetail extends Base {
      static readonly documentation: ErrorDocumentation = { code, status, meaning, remedy, isSentOverHttp }

      constructor(members: Schema.Struct.Type<Fields> = {} as Schema.Struct.Type<Fields>, options?: unknown) {
        super({ detail: detail(members), ...members }, options)
      }
    }
    Object.assign(ErrorWithDetail.prototype, {
      [tollgateErrorMarker]: true,
      expose: status < 500,
      name: tag,
      [inspectCustom]: inspectError,
      [toProblemJson](this: { readonly detail: string }, instance: string) {
        const type = `urn:tollgate:problem:${code}`
        return { type, title, status, detail: this.detail, instance, code, ...encodeFields(this) }
      }
    })
    return ErrorWithDetail as never
  }

/** Adds properties that `JSON.stringify` and loggers leave out: they are for the operator of the server. */
export const addHidden = (error: object, properties: Readonly<Record<string, unknown>>): void => {
  for (const [name, value] of Object.entries(properties)) {
    if (value !== undefined) Object.defineProperty(error, name, { value, configurable: true, writable: true })
  }
}
