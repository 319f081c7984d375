/**
 * Types and helpers for the parts of an OpenAPI description that the page shows.
 */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly default?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly additionalProperties?: boolean | Schema
  readonly required?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
}

export interface MediaType {
  readonly schema?: Schema
  readonly example?: unknown
}

type Content = Readonly<Record<string, MediaType>>

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
  readonly security?: ReadonlyArray<object>
}

export interface Description {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation with its method and path. */
export interface Entry {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export const listOperations = ({ paths }: Description): ReadonlyArray<Entry> =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  )

const referencePrefix = "#/components/schemas/"

/** The name of the referenced schema; `undefined` if the schema is not a reference. */
export const referenceName = ({ $ref }: Schema): string | undefined =>
  $ref?.startsWith(referencePrefix) === true ? $ref.slice(referencePrefix.length) : undefined

export type Resolve = (schema: Schema) => Schema

/** Replaces a reference by the schema that it points to. */
export const makeResolve =
  ({ components }: Description): Resolve =>
  (schema) => {
    const name = referenceName(schema)
    return (name === undefined ? schema : components.schemas[name]) ?? {}
  }

/** The alternatives of a union schema; otherwise the schema itself. */
export const listAlternatives = (schema: Schema): ReadonlyArray<Schema> => schema.anyOf ?? schema.oneOf ?? [schema]

/** The media type of a request body, its schema, and the example in the description. */
export const getRequestBody = ({
  requestBody
}: Operation): readonly [type: string, schema: Schema, example: unknown] | undefined => {
  const [first] = Object.entries(requestBody?.content ?? {})
  return first === undefined ? undefined : [first[0], first[1].schema ?? {}, first[1].example]
}
