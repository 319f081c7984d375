/**
 * Counts the deployed names that an older version of Tollgate wrote, so that their projects are listed.
 */
import { Effect, Option } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { deployments, projectPartition } from "./deploymentRecords.ts"
import { type NameReservation, nameReservations } from "./nameRecords.ts"
import { isNameConflict, planProjectIncrement } from "./planNameReservation.ts"
import { uncountName } from "./uncountName.ts"

const directory = Partition.deploymentDirectory

const isDeployed = (reservation: NameReservation) =>
  Effect.map(deployments.get(projectPartition(reservation), reservation.name), Option.isSome)

const countName = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const entry = yield* nameReservations.get(directory, name)
      if (Option.isNone(entry) || entry.value.value.isCounted === true) return
      const { value } = entry.value
      const { change } = yield* planProjectIncrement(value, {})
      yield* store.commit(directory, [
        nameReservations.replace(entry.value, { ...value, isCounted: true, isKept: true }),
        change
      ])
    })
    // If the branch has another name by now, that name is counted.
  ).pipe(Effect.catchIf(isNameConflict, () => Effect.void))

/**
 * Counts those of the names that have a deployment and are not counted. The limits of the account are not checked, since
 * the deployments exist.
 */
export const countLegacyNames = (entries: ReadonlyArray<Entry<NameReservation>>) =>
  Effect.forEach(
    entries.filter(({ value }) => value.isCounted !== true),
    ({ value }) =>
      Effect.gen(function* () {
        if (!(yield* isDeployed(value))) return
        yield* countName(value.name)
        // A removal in between did not uncount the name, because it was not counted yet.
        if (!(yield* isDeployed(value))) yield* uncountName(value.name)
      }),
    { concurrency: 8, discard: true }
  )
