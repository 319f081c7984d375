/**
 * A bundle of a client contains no code of the server, so that it also runs in a browser.
 */
import { describe, expect, it } from "@effect/vitest"
import { build } from "esbuild"

/** Below the folder of a package. What a file of a client needs belongs elsewhere. */
const serverCode = [
  /^core\/src\/http\//,
  /^core\/src\/(Http|Tollgate\w*|module)\.ts$/,
  /^core\/src\/(assembly\/coreParts|access\/Authenticator)/,
  /^core\/src\/(accounts|consumers|keys|metering)\/(?!.*(Api|Series)\.ts$)[A-Z]\w*s\.ts$/,
  /^core\/src\/metering\/(Usage(?!Api|Series)|Count|Entitlement|Trial|count|open|commit|end|giveBack|sweep|read)/,
  /^core\/src\/keys\/(VerifyCache|verify|keyValues|reencryptKeys|secretRecords)/,
  /^core\/src\/(jobs|relay)\//,
  /^store\/src\/(crypto|copy)\//,
  /^store\/src\/store\/(?!StoreError|IdempotencyError|gcra)/,
  /^store\/src\/runtime\/(TrustedClock|checkNodeVersion)/,
  /^deployments\/src\/(http|runner|config)\//,
  /^deployments\/src\/services\/(?!\w+Api\.ts$)/,
  /^deployments\/src\/uploads\/(?!sourceStream|uploadErrors)/,
  /^webhooks\/src\/(?!client|Delivery\.ts|Webhook\.ts|WebhookError|WebhooksApi|webhookEvents|webhooksDeclaration)/,
  /Module\.ts$/,
  /Records\.ts$/
]

const clients = [
  ["core", "core/src/client/createClient.ts"],
  ["deployments", "deployments/src/module/deploymentsDeclaration.ts"],
  ["webhooks", "webhooks/src/webhooksDeclaration.ts"]
] as const

describe.each(clients)("the client of %s", async (name, declaration) => {
  const { metafile } = await build({
    entryPoints: [`packages/${name}/src/client.ts`],
    bundle: true,
    write: false,
    metafile: true,
    outdir: "unused",
    format: "esm",
    platform: "neutral",
    conditions: ["@tollgate/source"],
    external: ["node:*", "effect", "effect/*"]
  })
  const [output] = Object.values(metafile.outputs)
  const inputs = Object.entries(metafile.inputs).filter(([path]) => (output?.inputs[path]?.bytesInOutput ?? 0) > 0)

  it("contains no server code", () => {
    const files = inputs.map(([path]) => path.replace("packages/", ""))
    expect(files).toContain(declaration)
    expect(files.filter((file) => serverCode.some((pattern) => pattern.test(file)))).toEqual([])
  })

  it("imports no module of Node", () => {
    const imports = inputs.flatMap(([path, input]) =>
      input.imports
        .filter((imported) => imported.path.startsWith("node:"))
        .map((imported) => `${path}: ${imported.path}`)
    )
    expect(imports).toEqual([])
  })
})
