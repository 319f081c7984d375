/**
 * Adds the examples to the OpenAPI description. They are not in the declarations of the operations, because a client, which
 * contains the declarations, does not need them.
 */
import { Schema } from "effect"
import type { OperationDescription } from "../../api/describeOperations.ts"
import { linesType } from "../../api/withLines.ts"
import type { Page } from "../encodePage.ts"
import { formatEvents } from "../formatEvents.ts"

/** The JSON of the bodies of an operation. */
export interface Example {
  readonly request?: unknown
  readonly response?: unknown
}

/** By group and operation. */
export type Examples = Readonly<Record<string, Readonly<Record<string, Example>>>>

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

/** The events of the same response. */
const toEventsExample = ({ response: { body, eventStream } }: OperationDescription, example: unknown) =>
  eventStream && formatEvents(eventStream, Schema.decodeUnknownSync(body)(example), undefined).text

/** The items of the same response. */
const toLinesExample = ({ response: { hasLines } }: OperationDescription, example: unknown) =>
  hasLines ? (example as Page).data.map((item) => `${JSON.stringify(item)}\n`).join("") : undefined

const setExample = (body: Body | undefined, contentType: string, example: unknown): void => {
  const content = body?.content?.[contentType]
  if (content !== undefined && example !== undefined) content.example = example
}

/** Adds the examples of each operation, and returns the same description. */
export const addExamples = <Spec extends { readonly paths: object }>(
  spec: Spec,
  descriptions: ReadonlyArray<OperationDescription>,
  examples: Examples
): Spec => {
  const paths = Object.values(spec.paths) as ReadonlyArray<Readonly<Record<string, Operation>>>
  const operations = new Map(paths.flatMap(Object.values<Operation>).map((item) => [item.operationId, item]))
  for (const description of descriptions) {
    const operation = operations.get(description.id)
    const example = examples[description.group]?.[description.name]
    if (operation === undefined || example === undefined) continue
    const response = operation.responses[description.response.status]
    setExample(operation.requestBody, description.mediaType ?? "application/json", example.request)
    setExample(response, "application/json", example.response)
    setExample(response, "text/csv", toCsvExample(description, example.response))
    setExample(response, "text/event-stream", toEventsExample(description, example.response))
    setExample(response, linesType, toLinesExample(description, example.response))
  }
  return spec
}
