/**
 * Changes resources of every kind, one after the other in each of several lanes. The events of each resource tell its
 * revision, so that a missing, repeated or misplaced event is found.
 */
import type { LocalAccountHandle } from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"

/** An acknowledged change: the type of its event, the id of the resource, and its revision if it has one. */
export type ChangeReport = readonly [type: string, subject: string, revision?: number]

type Report = (change: ChangeReport) => void

const revisions = 4
const meters = { requests: { max: 10 } }

/** The consumers that are removed have no keys, because the removal of a key with its consumer is no event. */
const changeConsumers = async (acme: LocalAccountHandle, prefix: string, report: Report) => {
  const { consumers, keys } = acme.keyBucket("b")
  for (let index = 0; ; index++) {
    const name = `${prefix}-${index}`
    const { id } = await consumers.create({ name, metadata: { revision: 0 } })
    report(["consumer.created", id, 0])
    for (let revision = 1; revision <= revisions; revision++) {
      await consumers.update(name, { metadata: { revision } })
      report(["consumer.updated", id, revision])
    }
    if (index % 2 === 0) {
      await consumers.remove(name)
      report(["consumer.deleted", id])
      continue
    }
    const created = await keys.create(name, {})
    report(["key.created", created.id])
    for (const { id } of (await keys.createMany(name, [{}, {}])).data) report(["key.created", id])
    await keys.remove(name, created.id)
    report(["key.deleted", created.id])
  }
}

/** Plans and subscriptions carry the id of their bucket, because their removal with it is no event. */
const changeBuckets = async (acme: LocalAccountHandle, report: Report) => {
  for (let index = 0; ; index++) {
    const { id: bucketId } = await acme.meteringBuckets.create()
    report(["metering_bucket.created", bucketId])
    const { plans, subscriptions } = acme.meteringBucket(bucketId)
    const { id: planId } = await plans.create({ label: `${bucketId} 0`, planExternalId: "p", meters })
    report(["plan.created", planId, 0])
    for (let revision = 1; revision <= revisions; revision++) {
      await plans.update(planId, { label: `${bucketId} ${revision}` })
      report(["plan.updated", planId, revision])
    }
    const { id } = await subscriptions.create(makeSubscription(planId, "p", { customerKey: bucketId }))
    report(["subscription.created", id])
    await subscriptions.update(id, { status: "past-due" })
    report(["subscription.updated", id])
    report(["subscription.status_changed", id])
    if (index % 2 === 0) {
      await subscriptions.remove(id)
      report(["subscription.deleted", id])
    }
    if (index % 3 === 0) {
      await acme.meteringBuckets.remove(bucketId)
      report(["metering_bucket.deleted", bucketId])
    }
  }
}

/** Makes changes until the process is killed. */
export const writeChanges = async (acme: LocalAccountHandle, prefix: string, report: Report): Promise<void> => {
  await Promise.all([
    ...["a", "b", "c"].map((lane) => changeConsumers(acme, `${prefix}-${lane}`, report)),
    changeBuckets(acme, report)
  ])
}
