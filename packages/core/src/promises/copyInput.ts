/**
 * Copies the input of callers in process and in a client to plain JSON. A `Date` is accepted where a timestamp is, and
 * nowhere else: as JSON it would be a string that the caller did not write.
 */

import { type InvalidInput, invalidBody, invalidParameter, Timestamp } from "@tollgate/store/internal"
import { SchemaAST } from "effect"

const timestampChecks = SchemaAST.toEncoded(Timestamp.ast).checks

/** The JSON pointers of the timestamps in the input of a schema, with `*` for every index of a list. */
export const findTimestamps = (ast: SchemaAST.AST, pointer = ""): ReadonlyArray<string> => {
  const encoded = SchemaAST.toEncoded(ast)
  if (encoded.checks === timestampChecks) return [pointer]
  if (SchemaAST.isUnion(encoded)) return encoded.types.flatMap((type) => findTimestamps(type, pointer))
  if (SchemaAST.isArrays(encoded)) return encoded.rest.flatMap((item) => findTimestamps(item, `${pointer}/*`))
  if (!SchemaAST.isObjects(encoded)) return []
  return encoded.propertySignatures.flatMap(({ name, type }) => findTimestamps(type, `${pointer}/${String(name)}`))
}

const toTimestamp = (date: Date, isExpected: boolean, invalid: (detail: string) => InvalidInput): string => {
  if (!isExpected) throw invalid("cannot be a Date, which is accepted only where a timestamp is")
  if (Number.isNaN(date.getTime())) throw invalid("is an invalid Date")
  return date.toISOString()
}

/** Whether an object would silently count as `{}`, such as a Map, a Date, or an object with inherited properties only. */
export const isOpaque = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== null && Object.keys(value).length === 0
}

/** Copies a body without the properties that are `undefined`, and with a string for each `Date`. */
export const copyBody = (value: unknown, timestamps: ReadonlyArray<string>, pointer = ""): unknown => {
  if (Array.isArray(value)) return value.map((item, index) => copyBody(item, timestamps, `${pointer}/${index}`))
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Date) {
    const isExpected = timestamps.includes(pointer.replace(/\/\d+(?=\/|$)/g, "/*"))
    return toTimestamp(value, isExpected, (detail) => invalidBody(pointer, detail))
  }
  if (isOpaque(value)) throw invalidBody(pointer, "must be a plain object")
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(entries.map(([name, item]) => [name, copyBody(item, timestamps, `${pointer}/${name}`)]))
}

/** Copies the options of a call, with a string for each `Date`. */
export const copyOptions = (options: object, timestamps: ReadonlyArray<string>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) =>
      value instanceof Date
        ? [name, toTimestamp(value, timestamps.includes(`/${name}`), (detail) => invalidParameter(name, detail))]
        : [name, value]
    )
  )
