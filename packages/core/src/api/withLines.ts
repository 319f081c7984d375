/**
 * A page that clients can also get as lines of JSON, with `Accept: application/x-ndjson`: all items of the list from the
 * first of the page on.
 */
import { type Schema, SchemaAST } from "effect"

export const linesType = "application/x-ndjson"

const linesAnnotation = "~tollgate/lines"

/** Adds lines to a page. */
export const withLines = <S extends Schema.Top>(page: S): S["Rebuild"] => page.annotate({ [linesAnnotation]: true })

/** Whether clients can get a response as lines. */
export const hasLines = ({ ast }: Schema.Top): boolean => SchemaAST.resolveAt<boolean>(linesAnnotation)(ast) === true
