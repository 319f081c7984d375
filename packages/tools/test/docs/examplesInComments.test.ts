/**
 * Type-checks the examples in doc comments, which editors show on hover.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { afterAll, expect, it } from "@effect/vitest"
import ts from "typescript5"

const root = join(import.meta.dirname, "../../../..")
const folder = mkdtempSync(join(root, ".readme-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the examples use without declaring it, with the types that it has in an application. */
const prelude = `
import { createServer } from "node:http"
import { assert } from "@effect/vitest"
import { adminConsole, type ConsoleModule } from "@tollgate/console"
import { createTollgate, isTollgateError, type LocalKeyBucketHandle, type MeteringBucketHandle, type Tollgate as Gate } from "@tollgate/core"
import { createClient, type ClientOptions } from "@tollgate/core/client"
import { type Consumers, Tollgate } from "@tollgate/core/effect"
import { Options } from "@tollgate/core/internal"
import { copyStore } from "@tollgate/store/copy"
import { BoundedMap, Collection, Partition, Store, StoreContents, type StoreOperations } from "@tollgate/store"
import { decisions } from "@tollgate/decisions"
import { deployments, type DeploymentsModule, targetFromPromises } from "@tollgate/deployments"
import { withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { openTelemetry } from "@tollgate/opentelemetry"
import { customerPortal } from "@tollgate/portal"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { stateHash } from "@tollgate/store-testkit"
import { tokens } from "@tollgate/tokens"
import { webhooks, type WebhooksModule } from "@tollgate/webhooks"
import { Effect, Layer, Schema } from "effect"
declare const gate: Gate<ConsoleModule | DeploymentsModule | WebhooksModule>
declare const production: LocalKeyBucketHandle
declare const billing: MeteringBucketHandle
declare const secret: string
declare const token: string
declare const key: string
declare const publicUrl: string
declare const options: ClientOptions
declare const metering: { meteringBucketId: string; meters: Record<string, number> }
declare const store: StoreOperations
declare const partition: Partition.Partition
declare const myProgram: Effect.Effect<void, never, Store>
declare const MyStore: { layer: Layer.Layer<Store | StoreContents> }
declare const MyServerStore: { layer: Layer.Layer<Store | StoreContents> }
declare const consumers: Consumers["Service"]
declare const badRequest: Parameters<typeof consumers.create>[0]
declare const copy: (source: ReadableStream<Uint8Array>, path: string) => Promise<void>
const User = Schema.Struct({ name: Schema.String, team: Schema.String, email: Schema.String })
declare const alice: typeof User.Type
`

/** What an example of a binding uses besides: its `requireApiKey`, and the application of its framework. */
const bindings: Readonly<Record<string, string>> = {
  express: `
import { rateLimit, requireApiKey } from "@tollgate/express"
import type { Express } from "express"
declare const app: Express`,
  fastify: `
import { rateLimit, requireApiKey } from "@tollgate/fastify"
import type { FastifyInstance } from "fastify"
declare const app: FastifyInstance`,
  fetch: `
import { rateLimit, requireApiKey } from "@tollgate/fetch"
import type { Hono } from "hono"
declare const app: Hono`,
  "fetch/hono": `
import { rateLimit, requireApiKey } from "@tollgate/fetch/hono"
import type { Hono } from "hono"
declare const app: Hono`,
  koa: `
import { rateLimit, requireApiKey } from "@tollgate/koa"
import type { Middleware } from "koa"
type AddRoute = <State>(path: string, first: Middleware<State>, second: Middleware<State>) => void
declare const router: { get: AddRoute; post: AddRoute }`,
  node: `
import { rateLimit, requireApiKey } from "@tollgate/node"
import type { Express } from "express"
declare const app: Express`
}

const listFiles = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(path, name))

const examples = readdirSync(join(root, "packages")).flatMap((name) => {
  const source = join(root, "packages", name, "src")
  if (!existsSync(source)) return []
  return listFiles(source).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/@example\n[ *]*```ts\n(.*?)```/gs)].map(([, text = ""]) => ({
      file,
      binding: bindings[`${name}/${basename(file, ".ts")}`] ?? bindings[name] ?? "",
      code: text.replace(/^ *\* ?/gm, "").replace(/^export /gm, "")
    }))
  )
})

/** Puts the body in a function, where its names do not clash with those of the prelude. An import stays outside. */
const makeProgram = ({ binding, code }: (typeof examples)[number]): string => {
  const imports = code.match(/^import .*\n/gm)?.join("") ?? ""
  const body = code.replace(/^import .*\n/gm, "")
  const isGenerator = body.includes("yield* ")
  return `${prelude}${binding}\n${imports}\nexport const example = ${
    isGenerator ? `Effect.gen(function* () {\n${body}})` : `async () => {\n${body}}`
  }\n`
}

/** The errors of the examples. The packages' sources, which they import, are checked elsewhere. */
const findErrors = (): ReadonlyArray<string> => {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const paths = examples.map((_, index) => join(folder, `example-${index}.ts`))
  const program = ts.createProgram(paths, {
    ...options,
    composite: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    noPropertyAccessFromIndexSignature: false
  })
  return examples.flatMap(({ file }, index) => {
    const source = program.getSourceFile(paths[index] ?? "")
    const errors = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return errors.map(({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`)
  })
}

it("every example in a doc comment compiles", () => {
  expect(examples.length).toBeGreaterThan(25)
  for (const [index, example] of examples.entries()) {
    writeFileSync(join(folder, `example-${index}.ts`), makeProgram(example))
  }
  expect(findErrors()).toEqual([])
}, 120_000)
