/**
 * The addresses of versions: `v-` and 100 bits of a keyed hash, which no deployment has as its name. An address leads to one
 * release, so what it serves never changes: a version that is deployed again gets another one. It serves nothing before the
 * release is kept, and nothing any more when it is neither kept nor served. The record in the directory survives a change
 * of the secret.
 */
import { Collection, retryOnConflict, Store } from "@tollgate/core/module"
import { Effect, Option, Schema } from "effect"
import { DeploymentName } from "./Deployment.ts"
import { toBase32 } from "./deploymentName.ts"
import { byDeployment, Project, releaseId, type Version } from "./deploymentRecords.ts"
import { isReleaseInUse, isReleasePublished } from "./findDeployment.ts"
import { deploymentDirectory } from "./partitions.ts"

/** In base 32 characters: 100 bits. */
const hashLength = 20

const VersionAddress = Schema.Struct({
  ...Project.fields,
  address: Schema.String.pipe(Schema.check(Schema.isPattern(/^v-[a-z2-7]{20}$/u))),
  deployment: DeploymentName,
  /** The id of the release that it serves. */
  release: Schema.String
})

const addresses = Collection.make({
  name: "version-address",
  format: 1,
  schema: VersionAddress,
  key: ({ address }) => address,
  indexTerms: ({ deployment }) => [byDeployment(deployment)]
})

const directory = deploymentDirectory

export const isVersionAddress = Schema.is(VersionAddress.fields.address)

/** The address of the release that a run makes, recorded before the release is kept. */
export const ensureAddress = (
  { accountName, projectName }: Project,
  version: Version,
  hash: (text: string) => Uint8Array
) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const release = releaseId(version)
      const address = `v-${toBase32(hash(JSON.stringify(["release", release])), hashLength)}`
      if (Option.isNone(yield* addresses.get(directory, address))) {
        yield* store.commit(directory, [
          addresses.insert({ accountName, projectName, address, deployment: version.deployment, release })
        ])
      }
      return address
    })
  )

/** Finds the release that an address serves. */
export const findReleaseOfAddress = Effect.fnUntraced(function* (address: string) {
  const entry = yield* addresses.get(directory, address)
  if (Option.isNone(entry)) return Option.none()
  const { release, ...project } = entry.value.value
  return (yield* isReleasePublished(project, release)) ? Option.some(release) : Option.none()
})

/** Removes the addresses of releases that are not needed any more. */
export const removeUnusedAddresses = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      // The addresses first: a release is older than its address, and one that is not needed never will be again.
      const { entries } = yield* addresses.page(directory, { where: [byDeployment(name)], offset: 0, limit: 100 })
      const unused = yield* Effect.filter(entries, ({ value: { release } }) =>
        Effect.map(isReleaseInUse(release), (isInUse) => !isInUse)
      )
      if (unused.length > 0) yield* store.commit(directory, unused.map(addresses.remove))
    })
  )
