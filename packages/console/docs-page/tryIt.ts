/**
 * A form that builds a request, sends it and shows the response.
 */
import { type Entry, getRequestBody, type Parameter, type Resolve } from "./description.ts"
import { element, renderText } from "./dom.ts"
import { makeExample } from "./example.ts"
import { renderExample } from "./exampleView.ts"
import { bindName, getName } from "./remember.ts"
import { type PreparedRequest, prepareRequest, toCurl } from "./request.ts"
import { renderResponse } from "./responseView.ts"
import { describeType, renderFields } from "./schemaView.ts"
import { toTypeScript } from "./typescript.ts"

export interface Api {
  /** The URL that the API is mounted at. */
  readonly baseUrl: string
  readonly resolve: Resolve
  /** Sends a request, with the token if the operation requires one. */
  readonly send: (request: PreparedRequest, needsToken: boolean) => Promise<Response>
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const makeSelect = (values: ReadonlyArray<string>): HTMLSelectElement =>
  element("select", {}, ...["", ...values].map((value) => element("option", { value }, value)))

const makeField = ({ schema = {} }: Parameter): Field => {
  if (schema.type === "boolean") return makeSelect(["true", "false"])
  if (schema.enum !== undefined) return makeSelect(schema.enum.map(String))
  if (schema.type === "object") return element("textarea", { rows: "2", placeholder: "name=value, one per line" })
  const placeholder = schema.default === undefined ? "" : String(schema.default)
  return element("input", {
    type: "text",
    placeholder,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false"
  })
}

const wrapWithLabel = (
  field: Field,
  id: string,
  label: string,
  isRequired: boolean,
  hint: ReadonlyArray<Node | string>
) => {
  field.id = id
  field.setAttribute("aria-describedby", `${id}-hint`)
  if (isRequired) field.required = true
  return element(
    "div",
    { class: "field" },
    element("label", { for: id }, element("code", {}, label), isRequired ? " (required)" : ""),
    field,
    element("div", { class: "hint", id: `${id}-hint` }, ...hint)
  )
}

const makeBody = ({ operation }: Entry, resolve: Resolve) => {
  const body = getRequestBody(operation)
  if (body === undefined) return undefined
  const [type, schema, example] = body
  const isJson = type === "application/json"
  const field = isJson ? element("textarea", { rows: "6", spellcheck: "false" }) : element("input", { type: "file" })
  if (isJson) field.value = JSON.stringify(makeExample(resolve, "required")(schema), null, 2)
  const label = wrapWithLabel(
    field,
    `${operation.operationId}-body`,
    "Body",
    operation.requestBody?.required === true,
    [type]
  )
  const schemaNodes = isJson
    ? [
        ...renderFields(schema, resolve),
        ...renderExample("Example", { example }),
        ...renderExample("Example with every field", { example: makeExample(resolve, "all")(schema) })
      ]
    : []
  const read = (): string | Blob => (field instanceof HTMLInputElement ? (field.files?.[0] ?? new Blob()) : field.value)
  return { nodes: [element("h3", {}, "Request body"), label, ...schemaNodes], content: () => ({ type, body: read() }) }
}

/** Builds the form of an operation. The inputs also document the parameters and the body. */
export const makeTryIt = (entry: Entry, { baseUrl, resolve, send }: Api): HTMLFormElement => {
  const { operationId, parameters = [], security = [] } = entry.operation
  const needsToken = security.length > 0
  const inputs = parameters.map((parameter) => ({ parameter, field: makeField(parameter) }))
  for (const { parameter, field } of inputs) if (parameter.in === "path") bindName(parameter.name, field)
  const body = makeBody(entry, resolve)
  const curl = element("pre", { class: "curl", tabindex: "0" })
  const typescript = element("pre", { class: "typescript", tabindex: "0" })
  // Only the outcome is a live region: a screen reader would read the whole body aloud.
  const outcome = element("p", { class: "outcome", role: "status" })
  const response = element("div", { class: "response" })
  const button = element("button", { type: "submit" }, "Send request")

  const readInputs = () => inputs.map(({ parameter, field }) => ({ parameter, value: field.value }))
  const prepare = () => prepareRequest(baseUrl, entry, readInputs(), body?.content())
  const refresh = () => {
    const request = prepare()
    const text = typeof request.body === "string" ? request.body : undefined
    curl.textContent = toCurl(request, needsToken)
    typescript.textContent = toTypeScript(entry, readInputs(), text, getName, baseUrl) ?? ""
  }
  const submit = async () => {
    button.disabled = true
    outcome.textContent = "Sending…"
    response.replaceChildren()
    try {
      const started = performance.now()
      const received = await send(prepare(), needsToken)
      const rendered = await renderResponse(received, started)
      outcome.classList.toggle("failed", !received.ok)
      outcome.textContent = rendered.outcome
      response.replaceChildren(...rendered.nodes)
    } catch (error) {
      outcome.classList.add("failed")
      outcome.textContent = `The request failed: ${error}`
    } finally {
      button.disabled = false
    }
  }

  const fields = inputs.map(({ parameter, field }) =>
    wrapWithLabel(
      field,
      `${operationId}-${parameter.in}-${parameter.name}`,
      parameter.name,
      parameter.required === true,
      [
        element("span", { class: "type" }, `${parameter.in}: ${describeType(parameter.schema ?? {}, resolve)}`),
        parameter.description === undefined ? "" : element("p", {}, ...renderText(parameter.description))
      ]
    )
  )
  refresh()
  const hasMethod = typescript.textContent !== ""
  const form = element(
    "form",
    { "aria-label": `Try ${entry.operation.summary ?? operationId}` },
    element(
      "div",
      { class: "inputs" },
      ...(fields.length === 0 ? [] : [element("h3", {}, "Parameters"), ...fields]),
      ...(body?.nodes ?? [])
    ),
    element(
      "div",
      { class: "calls" },
      element("h3", {}, "curl"),
      curl,
      ...(hasMethod ? [element("h3", {}, "TypeScript"), typescript] : []),
      element("h3", {}, "Try it"),
      button,
      outcome,
      response
    )
  )
  form.addEventListener("input", refresh)
  form.addEventListener("change", refresh)
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void submit()
  })
  return form
}
