/** The OpenAPI description as a server sends it, and what the generated pages read from it. */
import { openGate } from "./allModules.ts"
import { getRefName, type JsonSchema } from "./jsonSchema.ts"

export interface MediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>
}

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export interface Response {
  readonly content?: Readonly<Record<string, MediaType>>
  readonly headers?: Readonly<Record<string, unknown>>
}

export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string
  readonly "x-permission"?: string
  readonly "x-narrow-permissions"?: ReadonlyArray<string>
  readonly description?: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, MediaType>> }
  readonly responses: Readonly<Record<string, Response>>
  readonly security: ReadonlyArray<object>
}

export interface OperationAtPath extends Operation {
  readonly method: string
  readonly path: string
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

const readDocument = async (): Promise<OpenApiDocument> => {
  const gate = await openGate()
  const response = await gate.handler(new Request("http://localhost/v1/openapi.json"))
  await gate.close()
  return (await response.json()) as OpenApiDocument
}

const document = await readDocument()

export const { tags, components } = document

/** In the order of declaration. */
export const operations: ReadonlyArray<OperationAtPath> = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path }))
)

const getAlternatives = (schema: JsonSchema): ReadonlyArray<JsonSchema> => schema.anyOf ?? [schema]

const getCode = (problem: JsonSchema): string =>
  String(components.schemas[getRefName(problem)]?.properties?.["code"]?.enum?.[0])

/** The codes of the errors of an operation, by status. */
export const getErrorCodes = ({ responses }: Operation): ReadonlyArray<string> =>
  Object.values(responses)
    .flatMap(({ content }) => content?.["application/problem+json"] ?? [])
    .flatMap(({ schema }) => getAlternatives(schema).map(getCode))

const isProblem = (name: string): boolean => /Problem(Encoded)?$/.test(name)

/** The schemas of bodies and responses, without those of errors, by name. */
export const namedSchemas: ReadonlyArray<readonly [string, JsonSchema]> = Object.entries(components.schemas)
  .filter(([name]) => !isProblem(name))
  .sort(([a], [b]) => a.localeCompare(b, "en"))
