/**
 * The request headers that several endpoints share.
 */
import { Schema, SchemaGetter, SchemaTransformation } from "effect"
import { parameters } from "./parameters.ts"

const etagPattern = /(W\/)?"[^"]*"/g

const isETagList = (header: string): boolean =>
  header.trim() === "*" || (header.match(etagPattern) !== null && /^[\s,]*$/.test(header.replace(etagPattern, "")))

/** Weak ETags and ETags that are not versions never match: version 0 does not exist. */
const parseETag = (etag: string): number => (/^"[1-9]\d{0,14}"$/.test(etag) ? Number(etag.slice(1, -1)) : 0)

const Versions = Schema.Array(Schema.Int)

/** `*` and a missing header match any version; the other ETags are the versions that match. */
const VersionsFromHeader = Schema.String.pipe(
  Schema.check(Schema.makeFilter(isETagList, { expected: "one or more ETags from earlier responses, or *" })),
  Schema.decodeTo(
    Schema.UndefinedOr(Versions),
    SchemaTransformation.transform({
      decode: (header: string): ReadonlyArray<number> | undefined =>
        header.trim() === "*" ? undefined : (header.match(etagPattern) ?? []).map(parseETag),
      encode: (versions: ReadonlyArray<number> | undefined) =>
        versions?.map((version) => `"${version}"`).join(", ") ?? "*"
    })
  )
)

/** In process: one version or several. */
const VersionOrVersions = Schema.Union([Schema.Int, Versions.pipe(Schema.check(Schema.isMinLength(1)))]).pipe(
  Schema.decodeTo(Schema.UndefinedOr(Versions), {
    decode: SchemaGetter.transform((input: number | ReadonlyArray<number>) =>
      typeof input === "number" ? [input] : input
    ),
    encode: SchemaGetter.transform((versions: ReadonlyArray<number> | undefined) => versions ?? [])
  })
)

/** Applies a change only if the item still has one of these versions. */
export const ifMatchHeader = parameters({
  ifMatch: {
    json: Schema.optionalKey(VersionOrVersions),
    wire: Schema.optionalKey(VersionsFromHeader),
    name: "if-match",
    description: "Apply the change only if the resource still has one of these ETags.",
    openApiSchema: { type: "string" }
  }
})

const IdempotencyKey = Schema.optionalKey(
  Schema.String.pipe(
    Schema.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/u, { expected: "1 to 255 visible ASCII characters" }))
  )
)

/** Makes retries safe: Tollgate applies the requests with one key once. */
export const idempotencyKeyHeader = parameters({
  idempotencyKey: {
    json: IdempotencyKey,
    wire: IdempotencyKey,
    name: "idempotency-key",
    description:
      "Makes retries safe: a request with the same key and body within 24 hours returns the first response and is not applied again.",
    openApiSchema: { type: "string", minLength: 1, maxLength: 255 }
  }
})
