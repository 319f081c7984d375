/**
 * `tollgate/opentelemetry`: spans and metrics with OpenTelemetry, as a module of `createTollgate`.
 */
export * from "@tollgate/opentelemetry"
