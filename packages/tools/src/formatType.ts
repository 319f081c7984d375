/** Writes JSON Schemas as short types, for the tables of the generated pages. */
import { getRefName, type JsonSchema } from "./jsonSchema.ts"
import { formatCode, linkTo } from "./markdown.ts"

const formatNumber = (value: number): string => value.toLocaleString("en-US")

/** Bounds that every integer has say nothing. */
const largestBounds = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 2 ** 32 - 1]

const formatBounds = (minimum: number | undefined, maximum: number | undefined, unit = ""): string => {
  const [min, max] = [minimum, maximum].map((bound) =>
    bound === undefined || largestBounds.includes(bound) ? undefined : formatNumber(bound)
  )
  if (min === undefined && max === undefined) return ""
  if (max === undefined) return `, at least ${min}${unit}`
  return min === undefined ? `, up to ${max}${unit}` : `, ${min === max ? min : `${min} to ${max}`}${unit}`
}

const formatString = ({ format, pattern, minLength, maxLength }: JsonSchema): string => {
  if (format === "date-time" || format === "binary") return format
  const [, prefix] = /^\^([a-z]+_)\[/.exec(pattern ?? "") ?? []
  if (prefix !== undefined) return `ID ${formatCode(`${prefix}…`)}`
  if (pattern !== undefined) return `string ${formatCode(pattern.replace(/^\^(.*)\$$/, "$1"))}`
  return `string${formatBounds(minLength, maxLength, " characters")}`
}

/** The schema of the values of a map, whose names are not declared. */
const getValues = ({ patternProperties = {}, additionalProperties }: JsonSchema): JsonSchema | undefined =>
  Object.values(patternProperties)[0] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined)

export const formatType = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return linkTo(getRefName(schema))
  if (schema.enum !== undefined) return schema.enum.map(formatCode).join(", ")
  if (schema.anyOf !== undefined) return schema.anyOf.map(formatType).join(" or ")
  switch (schema.type) {
    case "array":
      return `list of ${formatType(schema.items ?? {})}${formatBounds(schema.minItems, schema.maxItems, " items")}`
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
      return values === undefined ? "object" : `map of ${formatType(values)}${bounds}`
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

/** The object whose fields are listed below a field: that of an item, if the field is a list. */
const getNested = (schema: JsonSchema): readonly [suffix: string, nested: JsonSchema] | undefined => {
  if (schema.properties !== undefined) return [".", schema]
  return schema.items?.properties === undefined ? undefined : ["[].", schema.items]
}

/** The fields of an object, and those of the objects in it that have no name. The names of optional ones end with `?`. */
export const listFields = (schema: JsonSchema, prefix = ""): ReadonlyArray<Field> =>
  Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = `${prefix}${key}${schema.required?.includes(key) === true ? "" : "?"}`
    const [suffix, nested] = getNested(property) ?? ["", {}]
    return [
      { name, type: formatType(property), description: property.description ?? "" },
      ...listFields(nested, `${prefix}${key}${suffix}`)
    ]
  })
