/**
 * Renders one operation: its method, path and summary, and when opened, all details.
 */
import { type Entry, listAlternatives, type Operation, type Resolve, type Schema } from "./description.ts"
import { element, renderText } from "./dom.ts"
import { renderExample } from "./exampleView.ts"
import { describeType, renderFields } from "./schemaView.ts"
import { type Api, makeTryIt } from "./tryIt.ts"

/** Lists the types and titles of the problems of one status. */
const renderProblems = (schema: Schema, resolve: Resolve): ReadonlyArray<Node> => {
  const items = listAlternatives(resolve(schema)).map((alternative) => {
    const { properties = {} } = resolve(alternative)
    const [type, title] = [properties["type"]?.enum?.[0], properties["title"]?.enum?.[0]]
    return element("li", {}, element("code", {}, String(type ?? "problem")), ` ${title ?? ""}`)
  })
  return [element("ul", { class: "fields" }, ...items)]
}

const renderResponses = ({ responses }: Operation, resolve: Resolve): Node => {
  const items = Object.entries(responses).flatMap(([status, { description = "", content = {} }]) => {
    const [type, { schema = undefined } = {}] = Object.entries(content)[0] ?? []
    const isProblem = type === "application/problem+json"
    const about =
      schema === undefined || isProblem ? [] : [element("p", { class: "type" }, describeType(schema, resolve))]
    const fields =
      schema === undefined ? [] : isProblem ? renderProblems(schema, resolve) : renderFields(schema, resolve)
    const examples = Object.entries(content).flatMap(([type, media]) => renderExample(`Example: ${type}`, media))
    return [
      element("dt", {}, element("strong", {}, status)),
      element("dd", {}, ...(isProblem ? [] : renderText(description)), ...about, ...fields, ...examples)
    ]
  })
  return element("dl", { class: "responses" }, ...items)
}

/** Renders the details when they are first opened, because most never are. */
export const renderOperation = (entry: Entry, api: Api): HTMLDetailsElement => {
  const { method, path, operation } = entry
  const details = element(
    "details",
    { class: "operation", id: operation.operationId },
    element(
      "summary",
      {},
      element("span", { class: `method ${method.toLowerCase()}` }, method),
      element("code", { class: "path" }, path),
      element("span", { class: "summary" }, operation.summary ?? operation.operationId)
    )
  )
  details.addEventListener(
    "toggle",
    () => {
      details.append(
        element(
          "div",
          { class: "inside" },
          ...(operation.description === undefined ? [] : [element("p", {}, ...renderText(operation.description))]),
          makeTryIt(entry, api),
          element("h3", {}, "Responses"),
          renderResponses(operation, api.resolve)
        )
      )
    },
    { once: true }
  )
  return details
}
