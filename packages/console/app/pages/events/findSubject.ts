/** Finds the page of what an event is about. */
import type { EventJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"

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

/** What people call it. */
export const getSubjectName = ({ subject, data }: EventJson): string =>
  subject.name ?? getText(data["label"]) ?? subject.id

/** The link to what an event is about. A plan or a subscription is searched for when the link is opened: events do not tell its bucket. */
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
  if (subject.type === "token") return linkTo(["accounts", accountName, "people"])
  if (subject.type === "plan" || subject.type === "subscription")
    return linkTo(["accounts", accountName, "find", subject.type, subject.id])
  return subject.type === "grant" && subject.name !== undefined
    ? linkTo(["accounts", accountName, "find", "customer", subject.name])
    : undefined
}
