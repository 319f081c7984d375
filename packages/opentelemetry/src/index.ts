/**
 * `@tollgate/opentelemetry`: spans and metrics of Tollgate with OpenTelemetry, as a module of `createTollgate`.
 */
import { defineModule, type Module } from "@tollgate/core/module"
import { connectSdk } from "./connectSdk.ts"

/** OpenTelemetry, as a module: what `openTelemetry` returns. */
export type OpenTelemetryModule = Module<object, object, never>

/**
 * Records spans and metrics with the OpenTelemetry SDK that your program has registered before it calls `createTollgate`.
 * Without one, nothing is recorded.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, modules: [openTelemetry()] })
 * ```
 */
export const openTelemetry = (): OpenTelemetryModule => defineModule({ name: "openTelemetry", telemetry: connectSdk })
