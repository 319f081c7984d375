/**
 * Generates an example JSON body from a schema.
 */
import { listAlternatives, type Resolve, type Schema } from "./description.ts"

const exampleStrings = [
  "example",
  "alice@example.com",
  "2030-01-01T00:00:00Z",
  "an-example-of-16-characters-or-more",
  "0123456789abcdef".repeat(4),
  "00000000-0000-4000-8000-000000000000"
]

const makeString = (name: string, { pattern, format }: Schema): string => {
  if (format === "date-time") return "2030-01-01T00:00:00Z"
  if (pattern === undefined) return name
  const regExp = new RegExp(pattern, "u")
  return [name, name.toLowerCase(), ...exampleStrings].find((text) => regExp.test(text)) ?? name
}

/** Makes a generator of examples, with all fields or only the required ones. */
export const makeExample = (resolve: Resolve, fields: "all" | "required") => {
  const makeValue = (unresolved: Schema, name: string, depth: number): unknown => {
    const [schema = {}] = listAlternatives(resolve(unresolved)).map(resolve)
    if (schema.const !== undefined) return schema.const
    if (schema.default !== undefined) return schema.default
    if (schema.enum !== undefined) return schema.enum[0]
    // Deeper than every schema of this API; stops at recursive schemas.
    if (depth > 8) return null
    switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
      case "string":
        return makeString(name, schema)
      case "integer":
      case "number":
        return Math.max(schema.minimum ?? 1, Math.min(1, schema.maximum ?? 1))
      case "boolean":
        return true
      case "array":
        return [makeValue(schema.items ?? {}, name.replace(/s$/, ""), depth + 1)]
      case "object":
        return makeObject(schema, depth)
      default:
        return null
    }
  }
  const makeObject = (schema: Schema, depth: number): Readonly<Record<string, unknown>> => {
    const { properties = {}, required = [], patternProperties = {}, minProperties = 0, maxProperties } = schema
    const all = Object.entries(properties).slice(0, maxProperties)
    const needed = all.filter(([name]) => fields === "all" || required.includes(name))
    const selected = needed.length < minProperties ? all.slice(0, minProperties) : needed
    const others = Object.values(patternProperties).map((property) => ["example", property] as const)
    return Object.fromEntries(
      [...selected, ...others].map(([name, property]) => [name, makeValue(property, name, depth + 1)])
    )
  }
  return (schema: Schema): unknown => makeValue(schema, "example", 0)
}
