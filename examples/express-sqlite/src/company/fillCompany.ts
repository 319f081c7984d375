/**
 * Fills an account as a company with 200 customers has it after 90 days: keys, plans, requests, refusals, changes by people
 * and a webhook that fails. Everything goes through the services, on a clock that the caller sets to the past.
 */
import { account, bucket } from "../demo.ts"
import { changes } from "./changes.ts"
import { type Customer, dayCount, makeCustomers } from "./customers.ts"
import type { Gate } from "./gate.ts"
import { signIn } from "./people.ts"
import { plans } from "./plans.ts"
import { makeRandom, type Random } from "./random.ts"

const [hourMs, dayMs] = [3_600_000, 86_400_000]

/** The gate writes some of what it counts when it closes, and keeps a limited number of counts until then. */
const daysOfGate = 30

export interface Past {
  /** Opens the same store again. */
  readonly open: () => Promise<Gate>
  readonly setTime: (milliseconds: number) => void
  /** When the 90 days end. */
  readonly end: number
}

interface Filling {
  readonly gate: Gate
  readonly meteringBucketId: string
  readonly random: Random
  /** The keys of customers, by name. */
  readonly keys: Map<string, string>
}

const signUp = async (
  { gate, meteringBucketId, keys }: Filling,
  { name, company, email, region, plan, firstDay }: Customer
): Promise<void> => {
  const { consumers } = gate.account(account).keyBucket(bucket)
  const { apiKeys } = await consumers.create(
    { name, description: company, tags: { region }, managers: [email] },
    { withApiKey: true }
  )
  keys.set(name, apiKeys[0].key ?? "")
  const { subscriptions } = gate.account(account).meteringBucket(meteringBucketId)
  // Those who came lately still try it out.
  const isTrial = plan === "pro" && firstDay > dayCount - 12
  await subscriptions.create({
    customerKey: name,
    planExternalIds: [plan],
    ...(isTrial ? { status: "trialing" as const } : {})
  })
}

/** Less at weekends and at night, and a little more each week. */
const getShare = (time: number, day: number, hours: number): number => {
  const date = new Date(time)
  const isWeekend = date.getUTCDay() % 6 === 0
  const isNight = date.getUTCHours() < 7
  const ofHour = hours === 24 ? 1 : isNight ? 0.4 : 1.25
  return (isWeekend ? 0.5 : 1.1) * ofHour * (0.7 + day / 180)
}

/** One customer's requests of some hours. They are alike, so that the result does not depend on their order. */
const call = (
  { gate, meteringBucketId, keys }: Filling,
  { name }: Customer,
  count: number,
  tokens: number
): Promise<unknown> => {
  const production = gate.account(account).keyBucket(bucket)
  const metering = { meteringBucketId, meters: { requests: 1, tokens } }
  const authorize = (_: unknown, index: number) =>
    production.authorize(keys.get(name), { metering, labels: { model: index % 3 === 0 ? "large" : "small" } })
  return Promise.all(Array.from({ length: count }, authorize))
}

/** Requests that somebody makes with keys that are cut off, wrong or of another system. */
const callWrongly = async ({ gate, keys, random }: Filling): Promise<void> => {
  const production = gate.account(account).keyBucket(bucket)
  const [key = ""] = keys.values()
  const wrong = [
    key.slice(0, 20),
    `${key.slice(0, 3)}${"x".repeat(40)}`,
    "sk_live_of_another_system",
    undefined
  ] as const
  for (let count = random.integer(0, 2); count > 0; count--) await production.authorize(random.pick(wrong))
}

const fillHours = async (filling: Filling, customers: ReadonlyArray<Customer>, share: number): Promise<void> => {
  const { random } = filling
  // The numbers are drawn before anything waits, so that they do not depend on what is faster.
  const calls = customers.map((customer) => {
    const isBurst = random.next() < 0.002
    const count = Math.floor(customer.requestsPerDay * share * 2 * random.next() + random.next()) + (isBurst ? 12 : 0)
    return { customer, count, tokens: random.integer(200, 2_400) }
  })
  await Promise.all([
    ...calls.map(({ customer, count, tokens }) => call(filling, customer, count, tokens)),
    callWrongly(filling)
  ])
}

const makePaths = (meteringBucketId: string) => ({
  consumer: (name: string) => `/v1/accounts/${account}/key-buckets/${bucket}/consumers/${name}`,
  customer: (name: string) => `/v1/metering/${meteringBucketId}/customers/${name}`,
  plans: `/v1/metering/${meteringBucketId}/plans`
})

const fillDay = async (
  filling: Filling,
  all: ReadonlyArray<Customer>,
  day: number,
  { end, setTime }: Pick<Past, "end" | "setTime">
): Promise<void> => {
  const start = end - (dayCount - day) * dayMs
  setTime(start)
  await Promise.all(all.filter(({ firstDay }) => firstDay === day).map((customer) => signUp(filling, customer)))
  const present = all.filter(({ firstDay, lastDay = dayCount }) => firstDay <= day && day < lastDay)
  // The last day is shown by hours, and hours are kept for 8 days.
  const hours = day === dayCount - 1 ? 1 : day >= dayCount - 8 ? 8 : 24
  for (let hour = 0; hour < 24; hour += hours) {
    const time = start + hour * hourMs
    setTime(time)
    await fillHours(filling, present, (getShare(time, day, hours) * hours) / 24)
  }
  for (const change of changes.filter((change) => change.day === day)) {
    const person = await signIn(filling.gate, account, change.by)
    await change.run(person, makePaths(filling.meteringBucketId))
  }
  if (day === dayCount - 2)
    await filling.gate.account(account).webhooks.create({
      url: "http://127.0.0.1:9/tollgate",
      events: ["consumer.*", "subscription.*", "quota.*"]
    })
}

/** What the webhook is for; set when everything else is there. */
const finished = "Billing"

/** Whether the account was filled. Throws if that was cut off. */
export const isFilled = async (gate: Gate): Promise<boolean> => {
  const { plans, webhooks } = { plans: gate.account(account).meteringBucket("default").plans, ...gate.account(account) }
  const [webhook] = (await webhooks.list({ limit: 1 })).data
  if (webhook?.description === finished) return true
  const names = (await plans.list()).data.map(({ planExternalId }) => planExternalId)
  if (!names.includes("starter")) return false
  throw new Error(
    `The account "${account}" was filled in part only. Start with an empty store, or another folder as TOLLGATE_DATA.`
  )
}

export const fillCompany = async ({ open, setTime, end }: Past): Promise<void> => {
  const customers = makeCustomers()
  const random = makeRandom(90)
  const keys = new Map<string, string>()
  for (let firstDay = 0; firstDay < dayCount; firstDay += daysOfGate) {
    setTime(end - (dayCount - firstDay) * dayMs)
    const gate = await open()
    try {
      const metering = await gate.account(account).meteringBuckets.ensure("default")
      if (firstDay === 0) await metering.plans.ensure(plans)
      const filling = { gate, meteringBucketId: metering.id, random, keys }
      for (let day = firstDay; day < firstDay + daysOfGate; day++)
        await fillDay(filling, customers, day, { end, setTime })
      if (firstDay + daysOfGate < dayCount) continue
      const { webhooks } = gate.account(account)
      for (const { id } of (await webhooks.list()).data) await webhooks.update(id, { description: finished })
    } finally {
      await gate.close()
    }
  }
}
