/**
 * Adds the examples to the OpenAPI description. They are not in the declarations of the operations, because a client, which
 * contains the declarations, does not need them.
 */
import { Schema } from "effect"
import type { OperationDescription } from "../../api/describeOperations.ts"
import { allExamples } from "./examples/allExamples.ts"

interface Example {
  readonly request?: unknown
  readonly response?: unknown
}

const examplesByGroup: Readonly<Record<string, Readonly<Record<string, Example>>>> = allExamples

interface Body {
  readonly content?: Record<string, { example?: unknown }>
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

/** The CSV of the same response. */
const toCsvExample = ({ response: { body, toCsv } }: OperationDescription, example: unknown): string | undefined =>
  toCsv?.(Schema.decodeUnknownSync(body)(example))

const setExample = (body: Body | undefined, contentType: string, example: unknown): void => {
  const content = body?.content?.[contentType]
  if (content !== undefined && example !== undefined) content.example = example
}

/** Adds the examples of each operation, and returns the same description. */
export const addExamples = <Spec extends { readonly paths: object }>(
  spec: Spec,
  descriptions: ReadonlyArray<OperationDescription>
): Spec => {
  const paths = Object.values(spec.paths) as ReadonlyArray<Readonly<Record<string, Operation>>>
  const operations = new Map(paths.flatMap(Object.values<Operation>).map((item) => [item.operationId, item]))
  for (const description of descriptions) {
    const operation = operations.get(description.id)
    const example = examplesByGroup[description.group]?.[description.name]
    if (operation === undefined || example === undefined) continue
    const response = operation.responses[description.response.status]
    setExample(operation.requestBody, "application/json", example.request)
    setExample(response, "application/json", example.response)
    setExample(response, "text/csv", toCsvExample(description, example.response))
  }
  return spec
}
