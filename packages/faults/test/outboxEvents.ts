/**
 * Events in outboxes, recorded without the services, so that a test controls every store call.
 */
import { AccountName } from "@tollgate/core/effect"
import { recordEvent } from "@tollgate/core/internal"
import { Partition, type StoreOperations, type StoreRecord } from "@tollgate/store"
import { Effect } from "effect"

/** The number in the data of an event, in the order in which the events of a partition were recorded. */
const getNumber = ({ body }: StoreRecord): number => JSON.parse(body.slice(body.indexOf(" "))).data.number

const listNumbers = (store: StoreOperations, partition: Partition.Partition, term: string) =>
  Effect.map(store.list(partition, [{ indexTerms: [term], offset: 0, limit: 100_000 }]), ([page]) =>
    (page?.records ?? []).map(getNumber)
  )

/** Records numbered events in one commit. */
export const recordNumbers = Effect.fnUntraced(function* (
  store: StoreOperations,
  partition: Partition.Partition,
  numbers: ReadonlyArray<number>,
  getAccount: (number: number) => string = () => "acme"
) {
  const changes = yield* Effect.forEach(numbers, (number) =>
    recordEvent("consumer.updated", {
      accountName: AccountName.make(getAccount(number)),
      subject: { type: "consumer", id: "csmr_1" },
      data: { number }
    })
  )
  yield* store.commit(partition, changes)
})

/** The numbers of the events that are not moved yet. */
export const listOutbox = (store: StoreOperations, partition: Partition.Partition) =>
  listNumbers(store, partition, "outbox")

/** The numbers of the events in the log of an account. */
export const listLog = (store: StoreOperations, accountName: string) =>
  listNumbers(store, Partition.forEvents(accountName), "event")
