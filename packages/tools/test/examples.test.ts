/**
 * Type-checks the examples in doc comments, which editors show on hover.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, it } from "@effect/vitest"

const root = join(import.meta.dirname, "../../..")
const folder = mkdtempSync(join(root, ".readme-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the examples use without declaring it. `app` and others are of a framework's type, which is not the point here. */
const prelude = `
import { createServer } from "node:http"
import { adminConsole } from "@tollgate/console"
import { createTollgate, isTollgateError, type LocalKeyBucketHandle, type MeteringBucketHandle, type Tollgate as Gate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { AccountName, Tollgate } from "@tollgate/core/effect"
import { Options } from "@tollgate/core/internal"
import { BoundedMap, Collection, copyStore, Partition, Store, type StoreOperations, targetFromPromises } from "@tollgate/core/store"
import { withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { stateHash } from "@tollgate/store-testkit"
import { Effect, Layer, Schema } from "effect"
REQUIRE_API_KEY
declare const [gate, production, billing]: [Gate, LocalKeyBucketHandle, MeteringBucketHandle]
declare const [secret, token, key, publicUrl]: [string, string, string, string]
declare const [app, router, consumers, badRequest, assert, alice, options]: [any, any, any, any, any, any, any]
declare const metering: { meteringBucketId: string; meters: Record<string, number> }
declare const store: StoreOperations
declare const partition: Partition.Partition
declare const myProgram: Effect.Effect<void, never, Store>
declare const copy: (source: ReadableStream<Uint8Array>, path: string) => Promise<void>
const User = Schema.Struct({ name: Schema.String, team: Schema.String, email: Schema.String })
`

const listFiles = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(path, name))

/** The package whose `requireApiKey` an example uses. */
const findBinding = (file: string): string => /packages\/(express|koa|fastify|fetch)\//.exec(file)?.[1] ?? "express"

const examples = readdirSync(join(root, "packages"))
  .flatMap((name) => {
    const source = join(root, "packages", name, "src")
    return readdirSync(join(root, "packages", name)).includes("src") ? listFiles(source) : []
  })
  .flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/@example\n[ *]*```ts\n(.*?)```/gs)].map(([, text = ""]) => ({
      file,
      code: text.replace(/^ *\* ?/gm, "").replace(/^export /gm, "")
    }))
  )
  .filter(({ code }) => !code.startsWith("import "))

it("every example in a doc comment compiles", async () => {
  expect(examples.length).toBeGreaterThan(15)
  for (const [index, { file, code }] of examples.entries()) {
    const binding = `import { requireApiKey } from "@tollgate/${findBinding(file)}"`
    const text = `${prelude.replace("REQUIRE_API_KEY", binding)}\nexport async function* example() {\n${code}}\n`
    writeFileSync(join(folder, `example-${index}.ts`), text)
  }
  const tsconfig = {
    extends: "../tsconfig.json",
    compilerOptions: {
      noEmit: true,
      declarationMap: false,
      composite: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      noImplicitAny: false,
      noPropertyAccessFromIndexSignature: false
    },
    include: ["*.ts"],
    references: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
  const output = await promisify(execFile)(join(root, "node_modules/.bin/tsc"), ["-p", folder], { cwd: root }).then(
    () => "",
    (error: { readonly stdout: string }) => error.stdout
  )
  const named = output.replace(/\S*example-(\d+)\.ts/g, (_, index) => examples[Number(index)]?.file ?? "")
  expect(named).toBe("")
}, 120_000)
