/** Finds the page of what an event is about. */
import { find, get, toPath } from "@tollgate/ui/api/request.ts"
import type { EventJson, MeteringBucketJson, PageJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"

/** How many metering buckets are searched. */
const maxBuckets = 100

const getText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const isGone = ({ type }: EventJson): boolean => type.endsWith(".deleted")

/** The page of a consumer, which is that of its keys as well. */
const getConsumerLink = ({ accountName, type, data }: EventJson): string | undefined => {
  const bucket = getText(data["keyBucketName"])
  const consumer = getText(data["consumerName"])
  const isRemoved = type === "consumer.deleted"
  return bucket === undefined || consumer === undefined || isRemoved
    ? undefined
    : linkTo(["accounts", accountName, "consumers", bucket, consumer])
}

/** The link, where the event itself tells enough. */
export const getSubjectLink = (event: EventJson): string | undefined => {
  const { accountName, subject, data } = event
  if (subject.type === "consumer" || subject.type === "key") return getConsumerLink(event)
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

/** Whether `findSubject` can find what the event is about. */
export const canFind = (event: EventJson): boolean =>
  !isGone(event) && ["plan", "subscription"].includes(event.subject.type)

/** Searches the buckets of the account: these events do not tell which one it is. */
export const findSubject = (event: EventJson): Promise<string | undefined> =>
  findInMetering(event, event.subject.type === "plan" ? "plans" : "subscriptions")
