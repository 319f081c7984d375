/**
 * Compares the event log of an account with its resources and with the changes that were acknowledged.
 */
import { isDeepStrictEqual } from "node:util"
import type { LocalAccountHandle } from "@tollgate/core"
import type { ChangeReport } from "./writeChanges.ts"

type LoggedEvent = Awaited<ReturnType<LocalAccountHandle["events"]["list"]>>["data"][number]
type Resources = ReadonlyMap<string, object>

const readAll = async <A>(pages: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of pages) items.push(item)
  return items
}

/** Everything that exists, by id. */
const readResources = async (acme: LocalAccountHandle): Promise<Resources> => {
  const { consumers, keys } = acme.keyBucket("b")
  const resources = new Map<string, object>()
  const add = (items: ReadonlyArray<{ readonly id: string }>) => {
    for (const item of items) resources.set(item.id, item)
  }
  for (const consumer of await readAll(consumers.list())) {
    add([consumer])
    add(await readAll(keys.list(consumer.name, { keyFormat: "none" })))
  }
  for (const bucket of await readAll(acme.meteringBuckets.list())) {
    const { plans, subscriptions } = acme.meteringBucket(bucket.id)
    add([bucket])
    add(await readAll(plans.list()))
    add(await readAll(subscriptions.list()))
  }
  return resources
}

/** What `writeChanges` has put into a resource. */
interface ChangedFields {
  readonly metadata?: { readonly revision?: number }
  readonly label?: string
  readonly customerKey?: string
}

const getRevision = ({ type, data }: LoggedEvent): number | undefined => {
  const { metadata, label }: ChangedFields = data
  if (type.endsWith(".deleted")) return undefined
  return metadata?.revision ?? (label === undefined ? undefined : Number(label.split(" ")[1]))
}

const getBucketId = ({ data }: LoggedEvent): string => {
  const { label, customerKey }: ChangedFields = data
  return customerKey ?? label?.split(" ")[0] ?? ""
}

const describeChange = (...[type, subject, revision]: ChangeReport): string => `${type} ${subject} ${revision ?? ""}`
const describeEvent = (event: LoggedEvent): string => describeChange(event.type, event.subject.id, getRevision(event))

const lifecycle = ["created", "updated", "status_changed", "deleted"]

/** Whether the events of one resource are in the order of its changes. */
const isInOrder = (events: ReadonlyArray<LoggedEvent>): boolean => {
  const steps = events.map(({ type }) => lifecycle.indexOf(type.split(".")[1] ?? ""))
  const revisions = events.map(getRevision).filter((revision) => revision !== undefined)
  return (
    steps[0] === 0 &&
    steps.every((step, index) => step >= (steps[index - 1] ?? 0)) &&
    revisions.every((revision, index) => revision === index)
  )
}

/** Without what only events have, and what changes with other resources. */
const getOwnFields = (resource: object): object => {
  const owners = { consumerName: undefined, keyBucketName: undefined }
  const { previousStatus: _, hasSubscriptions: __, ...fields }: Record<string, unknown> = { ...resource, ...owners }
  return fields
}

/** Whether the last event of a resource shows it as it is, or tells why it does not exist. */
const isConfirmed = (event: LoggedEvent, resources: Resources): boolean => {
  const resource = resources.get(event.subject.id)
  if (event.type.endsWith(".deleted")) return resource === undefined
  if (resource !== undefined) return isDeepStrictEqual(getOwnFields(resource), getOwnFields(event.data))
  return getBucketId(event) !== "" && !resources.has(getBucketId(event))
}

export const checkEventLog = async (acme: LocalAccountHandle, acknowledged: ReadonlyArray<ChangeReport>) => {
  const events = await readAll(acme.events.list({ order: "asc", limit: 1_000 }))
  const resources = await readResources(acme)
  const bySubject = Map.groupBy(events, ({ subject }) => subject.id)
  const described = new Set(events.map(describeEvent))
  const lasts = [...bySubject.values()].flatMap((events) => events.slice(-1))
  return {
    events: events.length,
    twice: events.length - new Set(events.map(({ id }) => id)).size + (events.length - described.size),
    /** Acknowledged changes, and resources, without an event. */
    withoutEvent: [
      ...acknowledged.map((change) => describeChange(...change)).filter((change) => !described.has(change)),
      ...[...resources.keys()].filter((id) => !bySubject.has(id))
    ],
    withoutChange: lasts.filter((event) => !isConfirmed(event, resources)).map(describeEvent),
    outOfOrder: [...bySubject].filter(([, events]) => !isInOrder(events)).map(([id]) => id)
  }
}
