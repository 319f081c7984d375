/** Finds the page of what an event is about. */
import { find, get, toPath } from "../../api/request.ts"
import type { ConsumerJson, EventJson, MeteringBucketJson, NamedJson, PageJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"

/** How many key buckets or metering buckets are searched. */
const maxBuckets = 100

const getText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const isGone = ({ type }: EventJson): boolean => type.endsWith(".deleted")

/** The link, where the event itself tells enough. */
export const getSubjectLink = (event: EventJson): string | undefined => {
  const { accountName, subject, data } = event
  if (isGone(event)) return undefined
  if (subject.type === "metering_bucket") return linkTo(["accounts", accountName, "metering", subject.id])
  if (subject.type === "webhook") return linkTo(["accounts", accountName, "webhooks", subject.id])
  const project = getText(data["projectName"])
  if (subject.type === "deployment" && project !== undefined) {
    return linkTo(["accounts", accountName, "deployments", project, subject.id])
  }
  const bucket = getText(data["meteringBucketId"])
  return subject.type === "subscription" && bucket !== undefined
    ? linkTo(["accounts", accountName, "metering", bucket, "subscriptions", subject.id])
    : undefined
}

const findConsumer = async ({ accountName, subject }: EventJson): Promise<string | undefined> => {
  const root = toPath("/v1/accounts", accountName, "key-buckets")
  const buckets = await get<PageJson<NamedJson>>(root, { limit: maxBuckets })
  for (const { name: bucket } of buckets.data) {
    const { data } = await get<PageJson<ConsumerJson>>(toPath(root, bucket, "consumers"), { name: subject.name })
    const consumer = data.find(({ id }) => id === subject.id)
    if (consumer !== undefined) return linkTo(["accounts", accountName, "consumers", bucket, consumer.name])
  }
  return undefined
}

const findInMetering = async (
  { accountName, subject }: EventJson,
  collection: "plans" | "subscriptions"
): Promise<string | undefined> => {
  const buckets = await get<PageJson<MeteringBucketJson>>("/v1/metering", { accountName, limit: maxBuckets })
  for (const { id: bucket } of buckets.data) {
    if ((await find(toPath("/v1/metering", bucket, collection, subject.id))) !== undefined) {
      return linkTo(["accounts", accountName, "metering", bucket, collection, subject.id])
    }
  }
  return undefined
}

/** Whether `findSubject` can find what the event is about. Events of keys do not tell whose they are. */
export const canFind = (event: EventJson): boolean =>
  !isGone(event) && ["consumer", "plan", "subscription"].includes(event.subject.type)

/** Searches the buckets of the account: these events do not tell which one it is. */
export const findSubject = async (event: EventJson): Promise<string | undefined> => {
  if (event.subject.type === "consumer") return findConsumer(event)
  return findInMetering(event, event.subject.type === "plan" ? "plans" : "subscriptions")
}
