/**
 * A bundle of the client contains no code of the server, so that it also runs in a browser.
 */
import { expect, it } from "@effect/vitest"
import { build } from "esbuild"

/** Below packages/core/src. What a file of the client needs belongs elsewhere. */
const serverCode = [
  /^http\//,
  /^Http\.ts$/,
  /^Tollgate/,
  /^access\/Authenticator/,
  /^upgrade\//,
  /^(accounts|consumers|keys|metering|deployments)\/(?!.*(Api|Series)\.ts$)[A-Z]\w*s\.ts$/,
  /^metering\/(Usage(?!Api|Series)|Count|Entitlement|Trial|count|open|commit|end|giveBack|sweep|read)/,
  /^keys\/(VerifyCache|verify|keyValues|reencryptKeys|secretRecords)/,
  /^deployments\/(runner|config)\//,
  /^deployments\/uploads\/(?!sourceStream|uploadErrors)/,
  /Records\.ts$/,
  /^crypto\//,
  /^store\/(?!StoreError|IdempotencyError|gcra)/,
  /^runtime\/(TrustedClock|checkNodeVersion)/
]

const { metafile } = await build({
  entryPoints: ["packages/core/src/client.ts"],
  bundle: true,
  write: false,
  metafile: true,
  outdir: "unused",
  format: "esm",
  platform: "neutral",
  packages: "external",
  external: ["node:*"]
})
const [output] = Object.values(metafile.outputs)

it("contains no server code", () => {
  const files = Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path.replace("packages/core/src/", ""))
  expect(files).toContain("client/createClient.ts")
  expect(files.filter((file) => serverCode.some((pattern) => pattern.test(file)))).toEqual([])
})

it("imports no module of Node", () => {
  const imports = Object.entries(metafile.inputs).flatMap(([path, input]) =>
    (output?.inputs[path]?.bytesInOutput ?? 0) === 0
      ? []
      : input.imports
          .filter((imported) => imported.path.startsWith("node:"))
          .map((imported) => `${path}: ${imported.path}`)
  )
  expect(imports).toEqual([])
})
