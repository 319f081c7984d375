/** All error classes of Tollgate, with what the generated pages say of them. */
import * as adminConsole from "@tollgate/console"
import * as core from "@tollgate/core"
import * as client from "@tollgate/core/client"
import { MethodNotAllowed, RouteNotFound } from "@tollgate/core/internal"
import * as decisions from "@tollgate/decisions"
import * as deployments from "@tollgate/deployments"
import * as portal from "@tollgate/portal"
import * as store from "@tollgate/store"
import * as copy from "@tollgate/store/copy"
import type { ErrorDocumentation } from "@tollgate/store/internal"
import * as tokens from "@tollgate/tokens"
import * as webhooks from "@tollgate/webhooks"
import type { Schema } from "effect"

export interface ErrorClass extends Schema.Top {
  // biome-ignore lint/suspicious/noExplicitAny: the parameter is the fields, which differ by class
  new (members?: any): Error
  readonly fields: Schema.Struct.Fields
  readonly documentation: ErrorDocumentation
}

export interface DocumentedError extends ErrorDocumentation {
  readonly name: string
  readonly class: ErrorClass
  /** The entry point that exports the class. `undefined` if none does: the error occurs only over HTTP. */
  readonly entryPoint: string | undefined
}

const entryPoints: ReadonlyArray<readonly [string | undefined, object]> = [
  ["@tollgate/core", core],
  ["@tollgate/core/client", client],
  ["@tollgate/store/copy", copy],
  ["@tollgate/store", store],
  ["@tollgate/portal", portal],
  ["@tollgate/tokens", tokens],
  ["@tollgate/webhooks", webhooks],
  ["@tollgate/decisions", decisions],
  ["@tollgate/deployments", deployments],
  ["@tollgate/console", adminConsole],
  [undefined, { MethodNotAllowed, RouteNotFound }]
]

const isErrorClass = (value: unknown): value is ErrorClass => typeof value === "function" && "documentation" in value

/** By status, then by code. */
export const documentedErrors: ReadonlyArray<DocumentedError> = [
  ...new Map(
    entryPoints
      .toReversed()
      .flatMap(([entryPoint, exports]) =>
        Object.entries(exports).flatMap(([name, value]: [string, unknown]) =>
          isErrorClass(value) ? [[name, { ...value.documentation, name, class: value, entryPoint }] as const] : []
        )
      )
  ).values()
].sort((a, b) => a.status - b.status || a.code.localeCompare(b.code, "en") || a.name.localeCompare(b.name, "en"))
