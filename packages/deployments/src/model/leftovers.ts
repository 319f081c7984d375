/**
 * Releases of a deployment that may not be needed any more. They are noted in the commit that no longer needs them, and
 * removed outside the store afterwards, by this process or, as background work, by another one.
 */
import { Collection, type Partition } from "@tollgate/core/module"
import { Effect, Option, Schema } from "effect"
import { DeploymentName } from "./Deployment.ts"

const Leftovers = Schema.Struct({
  /** The deployment, whose versions are looked through too. */
  name: DeploymentName,
  releases: Schema.Array(Schema.String)
})
export type Leftovers = typeof Leftovers.Type

export const leftovers = Collection.make({ name: "leftover", format: 1, schema: Leftovers, key: ({ name }) => name })

/** If none can be removed for long, older ones are found by the sweep of the target. */
const maxReleases = 1_000

/** The change that notes releases of a deployment. */
export const noteLeftovers = (
  partition: Partition.Partition,
  name: DeploymentName,
  releases: ReadonlyArray<string | undefined>
) =>
  Effect.map(leftovers.get(partition, name), (entry) => {
    const found = releases.filter((id) => id !== undefined)
    return Option.match(entry, {
      onNone: () => leftovers.insert({ name, releases: found }),
      onSome: (entry) =>
        leftovers.replace(entry, {
          name,
          releases: [...new Set([...entry.value.releases, ...found])].slice(-maxReleases)
        })
    })
  })
