/**
 * A result that clients can also get as CSV, with `Accept: text/csv`.
 */
import { type Schema, SchemaAST } from "effect"

type ToCsv<A> = (value: A) => string

const csvAnnotation = "~tollgate/csv"

/** Adds CSV to a response. `toCsv` writes the lines, with the names of the columns first. */
export const withCsv = <S extends Schema.Top>(schema: S, toCsv: ToCsv<S["Type"]>): S["Rebuild"] =>
  schema.annotate({ [csvAnnotation]: toCsv })

/** The function that writes a result as CSV; `undefined` if the response has no CSV. */
export const getToCsv = ({ ast }: Schema.Top): ToCsv<unknown> | undefined =>
  SchemaAST.resolveAt<ToCsv<unknown>>(csvAnnotation)(ast)

/** The quality of a media range of an `Accept` header; 0 if it is refused. */
const parseQuality = (parameters: ReadonlyArray<string>): number => {
  const quality = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/i.exec(parameter)?.[1]).find(Boolean)
  return quality === undefined ? 1 : Number(quality)
}

/** Whether an `Accept` header asks for CSV rather than JSON. */
export const prefersCsv = (accept: string | undefined): boolean => {
  const qualities = new Map<string, number>()
  for (const range of (accept ?? "").slice(0, 1_000).split(",")) {
    const [type = "", ...parameters] = range.split(";")
    qualities.set(type.trim().toLowerCase(), parseQuality(parameters))
  }
  const csv = qualities.get("text/csv") ?? 0
  const json = qualities.get("application/json") ?? qualities.get("application/*") ?? qualities.get("*/*") ?? 0
  return csv > 0 && csv >= json
}
