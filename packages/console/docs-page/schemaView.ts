/**
 * Renders a schema as a list of fields.
 */
import { listAlternatives, type Resolve, referenceName, type Schema } from "./description.ts"
import { element, renderText } from "./dom.ts"

const constraints: ReadonlyArray<readonly [keyof Schema, (value: unknown) => string]> = [
  ["format", String],
  ["pattern", (value) => `matches ${value}`],
  ["minimum", (value) => `at least ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["minLength", (value) => `at least ${value} characters`],
  ["maxLength", (value) => `at most ${value} characters`],
  ["minItems", (value) => `at least ${value} items`],
  ["maxItems", (value) => `at most ${value} items`],
  ["default", (value) => `default ${JSON.stringify(value)}`]
]

const formatType = (schema: Schema, resolve: Resolve): string => {
  const { enum: values, items, anyOf, oneOf } = schema
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ")
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined)
    return alternatives.map((alternative) => describeType(alternative, resolve)).join(" | ")
  if (items !== undefined) return `array of ${referenceName(items) ?? formatType(items, resolve)}`
  return [schema.type ?? "any"].flat().join(" | ")
}

/** Describes a type with its constraints: `integer, at least 1, default 1000`. */
export const describeType = (unresolved: Schema, resolve: Resolve): string => {
  const schema = resolve(unresolved)
  const descriptions = constraints.flatMap(([name, describe]) => {
    // If there is a format (date-time), the pattern adds nothing.
    if (schema[name] === undefined || (name === "pattern" && schema.format !== undefined)) return []
    return [describe(schema[name])]
  })
  return [referenceName(unresolved) ?? formatType(schema, resolve), ...descriptions].join(", ")
}

/** The fields of an object schema; `<name>` stands for the keys of a map. */
const listFields = (schema: Schema): ReadonlyArray<readonly [name: string, schema: Schema, isRequired: boolean]> => {
  const { properties = {}, patternProperties = {}, additionalProperties, required = [] } = schema
  return [
    ...Object.entries(properties).map(([name, field]) => [name, field, required.includes(name)] as const),
    ...Object.values(patternProperties).map((field) => ["<name>", field, false] as const),
    ...(typeof additionalProperties === "object" ? [["<name>", additionalProperties, false] as const] : [])
  ]
}

/** Renders the fields of a schema recursively; returns an empty array if it has none. */
export const renderFields = (
  unresolved: Schema,
  resolve: Resolve,
  seen: ReadonlyArray<Schema> = []
): ReadonlyArray<Node> =>
  listAlternatives(resolve(unresolved)).flatMap((alternative) => {
    const schema = resolve(alternative)
    if (seen.includes(schema)) return []
    const ancestors = [...seen, schema]
    if (schema.items !== undefined) return renderFields(schema.items, resolve, ancestors)
    const fields = listFields(schema).map(([name, field, isRequired]) =>
      element(
        "li",
        {},
        element("code", {}, name),
        isRequired ? element("strong", {}, " required") : "",
        element("span", { class: "type" }, ` ${describeType(field, resolve)}`),
        ...(field.description === undefined ? [] : [element("p", {}, ...renderText(field.description))]),
        ...renderFields(field, resolve, ancestors)
      )
    )
    return fields.length === 0 ? [] : [element("ul", { class: "fields" }, ...fields)]
  })
