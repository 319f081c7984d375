/**
 * The packages that npm publishes, and their entry points.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly description?: string
  readonly keywords?: ReadonlyArray<string>
  readonly license?: string
  readonly sideEffects?: boolean
  readonly engines?: Readonly<Record<string, string>>
  readonly files?: ReadonlyArray<string>
  readonly publishConfig?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface PublishedPackage {
  readonly folder: string
  readonly manifest: Manifest
  /** The source files of its entry points. */
  readonly sources: ReadonlyArray<string>
  /** What an application imports, such as `@tollgate/core/client`. */
  readonly specifiers: ReadonlyArray<string>
}

const readPackages = (): ReadonlyArray<PublishedPackage> =>
  readdirSync("packages").flatMap((directory) => {
    const folder = join("packages", directory)
    const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    if (manifest.private === true) return []
    const entryPoints = Object.entries(manifest.exports ?? {})
    return {
      folder,
      manifest,
      sources: entryPoints.map(([, conditions]) => join(folder, conditions["@tollgate/source"] ?? "")),
      specifiers: entryPoints.map(([path]) => join(manifest.name, path))
    }
  })

const [all, isOne] = [readPackages(), ({ manifest }: PublishedPackage): boolean => manifest.name === "tollgate"]

/** `@tollgate/*`. */
export const publishedPackages: ReadonlyArray<PublishedPackage> = all.filter((one) => !isOne(one))

/** `tollgate`, which contains the others and Effect. */
export const [onePackage] = all.filter(isOne) as [PublishedPackage]
