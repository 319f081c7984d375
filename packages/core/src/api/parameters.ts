/**
 * Parameters of operations that are query parameters or headers over HTTP. A parameter has two codecs: one for callers
 * in process, who pass JSON under the parameter's name in TypeScript, and one for the string that HTTP sends under its
 * wire name. Both decode to the same value.
 */

import { omitUndefined } from "@tollgate/store/internal"
import { Schema, SchemaAST, SchemaTransformation } from "effect"

export interface Parameter<Json extends Schema.Top = Schema.Top, Wire extends Schema.Top = Schema.Top> {
  readonly json: Json
  readonly wire: Wire
  /** The name over HTTP, if it is not the name in TypeScript. */
  readonly name?: string
  /** For the OpenAPI description. */
  readonly description?: string
  /** The schema in the OpenAPI description, where the generated one would describe the string that HTTP sends. */
  readonly openApiSchema?: object
  /** Set on a parameter that stands for any number of wire parameters, whose names begin with this prefix. */
  readonly prefix?: string
}

export type Parameters = Readonly<Record<string, Parameter>>

type JsonFields<P extends Parameters> = { readonly [Name in keyof P]: P[Name]["json"] }

/** What callers in process pass, decoded. */
export type ParameterValues<P extends Parameters> = Schema.Struct.Type<JsonFields<P>>

/** The annotation that holds the codec for callers in process. */
const inProcessCodec = "~tollgate/inProcessCodec"

/** The fields of an endpoint's query or headers for callers in process. */
export const getInProcessFields = (schema: Schema.Top | undefined): Schema.Struct.Fields =>
  (schema && SchemaAST.resolveAt<Schema.Struct<Schema.Struct.Fields>>(inProcessCodec)(schema.ast)?.fields) ?? {}

type ParameterDocs = Pick<Parameter, "name" | "description" | "openApiSchema">

/** An optional parameter whose JSON and wire codecs are the same schema. */
export const optional = <S extends Schema.Top>(
  schema: S,
  docs: ParameterDocs = {}
): Parameter<Schema.optionalKey<S>> => ({
  json: Schema.optionalKey(schema),
  wire: Schema.optionalKey(schema),
  ...docs
})

/** A flag that is off by default. */
export const flag = (name: string, description: string) =>
  optional(Schema.Boolean, { name, description, openApiSchema: { type: "boolean", default: false } })

/** The annotation that holds the documentation of the parameters, by their wire names. */
const parameterDocs = "~tollgate/parameterDocs"

/** The documentation of an endpoint's query or headers for the OpenAPI description, by wire name. */
export const getParameterDocs = ({ ast }: Schema.Top): Readonly<Record<string, object>> =>
  SchemaAST.resolveAt<Readonly<Record<string, object>>>(parameterDocs)(ast) ?? {}

/** A map of wire names to names in TypeScript, both ways. */
const makeRenaming = (parameters: Parameters) => {
  const entries = Object.entries(parameters)
  const prefixed = entries.find(([, { prefix }]) => prefix !== undefined)
  const toWireName = new Map(entries.map(([name, parameter]) => [name, parameter.name ?? name]))
  const fromWireName = new Map([...toWireName].map(([name, wireName]) => [wireName, name]))
  // `Object.fromEntries` keeps a parameter named `__proto__`; an assignment would drop it, and with it a condition.
  const decode = (wire: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const values: Array<[string, unknown]> = []
    const collected: Array<[string, unknown]> = []
    for (const [wireName, value] of Object.entries(wire)) {
      const name = fromWireName.get(wireName)
      if (name !== undefined) values.push([name, value])
      else collected.push([wireName.slice(prefixed?.[1].prefix?.length ?? 0), value])
    }
    if (prefixed !== undefined && collected.length > 0) values.push([prefixed[0], Object.fromEntries(collected)])
    return Object.fromEntries(values)
  }
  const encode = (values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).flatMap(
        ([name, value]): ReadonlyArray<[string, unknown]> =>
          name === prefixed?.[0]
            ? Object.entries(value as object).map(([key, item]) => [`${prefixed[1].prefix}${key}`, item])
            : [[toWireName.get(name) ?? name, value]]
      )
    )
  return { decode, encode }
}

const NoParameters = Schema.Record(Schema.String, Schema.Never)

/** The schema of the parameters, as an endpoint declares them in `query` or `headers`. */
export const parameters = <P extends Parameters>(declared: P): Schema.Codec<ParameterValues<P>, unknown> => {
  const entries = Object.entries(declared)
  const named = entries.filter(([, { prefix }]) => prefix === undefined)
  const rest = entries.flatMap(([, { prefix, wire }]) => (prefix === undefined ? [] : [wire as never]))
  const struct = Schema.Struct(
    Object.fromEntries(named.map(([name, { wire, name: wireName = name }]) => [wireName, wire]))
  )
  // An empty struct would accept any object.
  const wire = entries.length === 0 ? NoParameters : rest.length === 0 ? struct : Schema.StructWithRest(struct, rest)
  const json = Schema.Struct(Object.fromEntries(entries.map(([name, { json }]) => [name, json])))
  const schema = (wire as Schema.Top).pipe(
    Schema.decodeTo(Schema.toType(json), SchemaTransformation.transform(makeRenaming(declared) as never))
  )
  const docs = entries.map(([name, { name: wireName = name, description, openApiSchema: schema }]) => [
    wireName,
    omitUndefined({ description, schema })
  ])
  return schema.annotate({ [inProcessCodec]: json, [parameterDocs]: Object.fromEntries(docs) }) as never
}
