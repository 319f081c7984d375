/**
 * The part of core that runs in the server, in the form of a module.
 */

import { Partition, Store } from "@tollgate/store/internal"
import { Effect, Stream } from "effect"
import { Accounts } from "../accounts/Accounts.ts"
import type { DecisionObservers } from "../authorize/DecisionObservers.ts"
import { Decisions } from "../authorize/Decisions.ts"
import { Consumers } from "../consumers/Consumers.ts"
import { Events } from "../events/Events.ts"
import { coreExamples } from "../http/docs/examples/coreExamples.ts"
import { getCaller } from "../http/getCaller.ts"
import { makeSystemOperations } from "../http/System.ts"
import { ApiKeys } from "../keys/ApiKeys.ts"
import { KeyBuckets } from "../keys/KeyBuckets.ts"
import { keyBucketRecords } from "../keys/keyBucketRecords.ts"
import { Alerts } from "../metering/alerts/Alerts.ts"
import { MeteringBuckets } from "../metering/buckets/MeteringBuckets.ts"
import { Grants } from "../metering/credits/Grants.ts"
import { Customers } from "../metering/customers/Customers.ts"
import { UsageHistory } from "../metering/history/UsageHistory.ts"
import { directoryRecords } from "../metering/model/meteringDirectoryRecords.ts"
import { Plans } from "../metering/plans/Plans.ts"
import { Reservations } from "../metering/reservations/Reservations.ts"
import { Subscriptions } from "../metering/subscriptions/Subscriptions.ts"
import { Usage } from "../metering/usage/Usage.ts"
import type { ModuleParts } from "../modules/Module.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { searchKeyBuckets } from "../search/searchKeyBuckets.ts"
import { searchMeteringBuckets } from "../search/searchMeteringBuckets.ts"
import { coreDeclaration } from "./coreDeclaration.ts"

/** The services of core. */
export type CoreServices =
  | Accounts
  | KeyBuckets
  | Consumers
  | ApiKeys
  | MeteringBuckets
  | Plans
  | Subscriptions
  | Usage
  | Customers
  | Grants
  | Alerts
  | UsageHistory
  | Reservations
  | Events
  | DecisionObservers
  | Decisions

export const coreParts: ModuleParts<CoreServices | Store> = {
  ...coreDeclaration,
  /** The group names are part of the OpenAPI description. */
  operations: Effect.gen(function* () {
    return {
      access: { me: getCaller },
      accounts: yield* Accounts,
      keyBuckets: yield* KeyBuckets,
      consumers: yield* Consumers,
      keys: yield* ApiKeys,
      decisions: yield* Decisions,
      buckets: yield* MeteringBuckets,
      plans: yield* Plans,
      subscriptions: { ...(yield* Subscriptions), ...(yield* Usage) },
      customers: yield* Customers,
      grants: yield* Grants,
      alerts: yield* Alerts,
      usage: { ...(yield* UsageHistory), ...(yield* Reservations), ...(yield* Usage) },
      events: yield* Events,
      system: makeSystemOperations(yield* Store)
    }
  }),
  owners: Effect.map(MeteringBuckets, ({ getAccountName }) => ({
    "metering-bucket": ({ bucketId = "" }) =>
      Effect.mapEager(getAccountName(bucketId), (accountName) => ({ accountName }))
  })),
  search: (request) =>
    Effect.map(
      Effect.forEach([searchKeyBuckets, searchMeteringBuckets], (find) => find(request)),
      (found) => found.flat()
    ),
  examples: coreExamples,
  partitions: (accountName) => {
    const query = { where: [`account:${accountName}`], pageSize: 1000 }
    return Stream.succeed(Partition.forEvents(accountName)).pipe(
      Stream.concat(
        Stream.map(keyBucketRecords.stream(Partition.keysDirectory, query), ({ value }) => getKeyBucketPartition(value))
      ),
      Stream.concat(
        Stream.map(directoryRecords.stream(Partition.meteringDirectory, query), ({ value }) =>
          Partition.forMeteringBucket(value.bucket.id)
        )
      )
    )
  }
}

/** What the parts of core and of all modules are together. */
export const mergeRecords = <A>(records: ReadonlyArray<Readonly<Record<string, A>>>): Readonly<Record<string, A>> =>
  Object.assign({}, ...records)
