/**
 * A result that clients can also get as CSV, with `Accept: text/csv`.
 */
import { type Schema, SchemaAST } from "effect"

export const csvType = "text/csv; charset=utf-8; header=present"

type ToCsv<A> = (value: A) => string

const csvAnnotation = "~tollgate/csv"

/** Adds CSV to a response. `toCsv` writes the lines, with the names of the columns first. */
export const withCsv = <S extends Schema.Top>(schema: S, toCsv: ToCsv<S["Type"]>): S["Rebuild"] =>
  schema.annotate({ [csvAnnotation]: toCsv })

/** The function that writes a result as CSV; `undefined` if the response has no CSV. */
export const getToCsv = ({ ast }: Schema.Top): ToCsv<unknown> | undefined =>
  SchemaAST.resolveAt<ToCsv<unknown>>(csvAnnotation)(ast)
