/**
 * An example of a JSON body, made from its schema.
 */
import { alternativesOf, type Resolve, type Schema } from "./description.ts"

const texts = ["example", "alice@example.com", "2030-01-01T00:00:00Z", "an-example-of-16-characters-or-more"]

const exampleText = (name: string, { pattern, format }: Schema): string => {
  if (format === "date-time") return "2030-01-01T00:00:00Z"
  if (pattern === undefined) return name
  const fits = new RegExp(pattern, "u")
  return [name, name.toLowerCase(), ...texts].find((text) => fits.test(text)) ?? name
}

/** Makes examples with every field, or with the required fields alone. */
export const makeExample = (resolve: Resolve, fields: "all" | "required") => {
  const exampleOf = (given: Schema, name: string, depth: number): unknown => {
    const [schema = {}] = alternativesOf(resolve(given)).map(resolve)
    if (schema.const !== undefined) return schema.const
    if (schema.default !== undefined) return schema.default
    if (schema.enum !== undefined) return schema.enum[0]
    // Deep enough for every schema here; a recursive one ends.
    if (depth > 8) return null
    switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
      case "string":
        return exampleText(name, schema)
      case "integer":
      case "number":
        return Math.max(schema.minimum ?? 1, Math.min(1, schema.maximum ?? 1))
      case "boolean":
        return true
      case "array":
        return [exampleOf(schema.items ?? {}, name.replace(/s$/, ""), depth + 1)]
      case "object":
        return exampleObject(schema, depth)
      default:
        return null
    }
  }
  const exampleObject = (schema: Schema, depth: number): Readonly<Record<string, unknown>> => {
    const { properties = {}, required = [], patternProperties = {} } = schema
    const named = Object.entries(properties).filter(([name]) => fields === "all" || required.includes(name))
    const others = Object.values(patternProperties).map((property) => ["example", property] as const)
    return Object.fromEntries([...named, ...others].map(([name, of]) => [name, exampleOf(of, name, depth + 1)]))
  }
  return (schema: Schema): unknown => exampleOf(schema, "example", 0)
}
