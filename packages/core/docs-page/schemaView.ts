/**
 * Shows a schema as a list of fields.
 */
import { alternativesOf, type Resolve, referenceName, type Schema } from "./description.ts"
import { element } from "./dom.ts"

const limits: ReadonlyArray<readonly [keyof Schema, (value: unknown) => string]> = [
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

const nameType = (schema: Schema, resolve: Resolve): string => {
  const { enum: values, items, anyOf, oneOf } = schema
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ")
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined) return alternatives.map((one) => describeType(one, resolve)).join(" | ")
  if (items !== undefined) return `array of ${referenceName(items) ?? nameType(items, resolve)}`
  return [schema.type ?? "any"].flat().join(" | ")
}

/** The type in a few words, with its limits: `integer, at least 1, default 1000`. */
export const describeType = (given: Schema, resolve: Resolve): string => {
  const schema = resolve(given)
  const said = limits.flatMap(([name, say]) => {
    // A date's format says what its pattern would spell out.
    if (schema[name] === undefined || (name === "pattern" && schema.format !== undefined)) return []
    return [say(schema[name])]
  })
  return [referenceName(given) ?? nameType(schema, resolve), ...said].join(", ")
}

/** The fields of a schema, or of what an array or a map holds. */
const fieldsOf = (schema: Schema): ReadonlyArray<readonly [name: string, schema: Schema, isRequired: boolean]> => {
  const { properties = {}, patternProperties = {}, additionalProperties, required = [] } = schema
  return [
    ...Object.entries(properties).map(([name, field]) => [name, field, required.includes(name)] as const),
    ...Object.values(patternProperties).map((field) => ["<name>", field, false] as const),
    ...(typeof additionalProperties === "object" ? [["<name>", additionalProperties, false] as const] : [])
  ]
}

/** Shows the fields of a schema, and of what is in them; nothing where there are none. */
export const showFields = (given: Schema, resolve: Resolve, seen: ReadonlyArray<Schema> = []): ReadonlyArray<Node> =>
  alternativesOf(resolve(given)).flatMap((alternative) => {
    const schema = resolve(alternative)
    if (seen.includes(schema)) return []
    const inside = [...seen, schema]
    if (schema.items !== undefined) return showFields(schema.items, resolve, inside)
    const fields = fieldsOf(schema).map(([name, field, isRequired]) =>
      element(
        "li",
        {},
        element("code", {}, name),
        isRequired ? element("strong", {}, " required") : "",
        element("span", { class: "type" }, ` ${describeType(field, resolve)}`),
        ...(field.description === undefined ? [] : [element("p", {}, field.description)]),
        ...showFields(field, resolve, inside)
      )
    )
    return fields.length === 0 ? [] : [element("ul", { class: "fields" }, ...fields)]
  })
