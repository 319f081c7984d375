/** Writes JSON Schemas as short types, for the tables of the generated pages. */

import { toAnchor } from "../../../../docs/.vitepress/toAnchor.ts"
import { getRefName, isTimestamp, type JsonSchema } from "./jsonSchema.ts"
import { formatCode } from "./markdown.ts"

const formatNumber = (value: number): string => value.toLocaleString("en-US")

/** Bounds that every integer has say nothing. */
const largestBounds = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 2 ** 32 - 1]

const formatBounds = (minimum: number | undefined, maximum: number | undefined, unit = ""): string => {
  const [min, max] = [minimum, maximum].map((bound) =>
    bound === undefined || largestBounds.includes(bound) ? undefined : formatNumber(bound)
  )
  if (min === undefined && max === undefined) return ""
  if (max === undefined) return ` (at least ${min}${unit})`
  return min === undefined ? ` (up to ${max}${unit})` : ` (${min} to ${max}${unit})`
}

const formatString = ({ format, pattern, minLength, maxLength }: JsonSchema): string => {
  if (format === "binary") return format
  if (pattern !== undefined && isTimestamp(pattern)) return "date-time"
  const [, prefix] = /^\^([a-z]+_)\[/.exec(pattern ?? "") ?? []
  if (prefix !== undefined) return `ID ${formatCode(`${prefix}…`)}`
  if (pattern?.startsWith("^[0-9a-f]{8}-") === true) return "UUID"
  if (pattern !== undefined) return `string ${formatCode(pattern.replace(/^\^(.*)\$$/, "$1"))}`
  if (minLength === 1 && maxLength === undefined) return "string (not empty)"
  return `string${formatBounds(minLength, maxLength, " characters")}`
}

/** The schema of the values of a map, whose names are not declared. */
const getValues = ({ patternProperties = {}, additionalProperties }: JsonSchema): JsonSchema | undefined =>
  Object.values(patternProperties)[0] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined)

/** The heading of a schema differs from that of an operation: `UsageSeries` and `usage.series` have the same anchor. */
export const toSchemaHeading = (name: string): string => `${name} schema`

export const formatType = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return `[${getRefName(schema)}](#${toAnchor(toSchemaHeading(getRefName(schema)))})`
  if (schema.enum !== undefined) return schema.enum.map(formatCode).join(", ")
  if (schema.anyOf !== undefined) return schema.anyOf.map(formatType).join(" or ")
  switch (schema.type) {
    case "array":
      return `list${formatBounds(schema.minItems, schema.maxItems, " items")} of ${formatType(schema.items ?? {})}`
    case "string":
      return formatString(schema)
    case "integer":
    case "number":
      return `${schema.type}${formatBounds(schema.minimum, schema.maximum)}`
    case "null":
      return "`null`"
    case "object": {
      const values = getValues(schema)
      const bounds = formatBounds(schema.minProperties, schema.maxProperties, " entries")
      return values === undefined ? "object" : `map${bounds} of ${formatType(values)}`
    }
    default:
      return schema.type ?? "JSON"
  }
}

interface Field {
  readonly name: string
  readonly type: string
  readonly description: string
}

/** The fields of the objects without a name in a field, in the items of a list, or in one of several types. */
const listNestedFields = (schema: JsonSchema, prefix: string): ReadonlyArray<Field> => {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((type) => listNestedFields(type, prefix))
  return schema.items === undefined ? listFields(schema, `${prefix}.`) : listFields(schema.items, `${prefix}[].`)
}

/** The fields of an object, and those of the objects in it that have no name. The names of optional ones end with `?`. */
export const listFields = (schema: JsonSchema, prefix = ""): ReadonlyArray<Field> =>
  Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = `${prefix}${key}${schema.required?.includes(key) === true ? "" : "?"}`
    return [
      { name, type: formatType(property), description: property.description ?? "" },
      ...listNestedFields(property, `${prefix}${key}`)
    ]
  })
