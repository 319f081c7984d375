/** 200 customers, the same at every run. */
import { type PlanName, pickPlan } from "./plans.ts"
import { makeRandom } from "./random.ts"

export interface Customer {
  readonly name: string
  readonly company: string
  readonly email: string
  readonly region: "eu" | "us" | "apac"
  readonly plan: PlanName
  readonly requestsPerDay: number
  /** The day on which it signed up; 0 is the first. */
  readonly firstDay: number
  /** The day from which it makes no more requests, if there is one. */
  readonly lastDay: number | undefined
}

export const customerCount = 200
export const dayCount = 90

const first = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper"] as const
const second = [
  "analytics",
  "bank",
  "clinic",
  "dynamics",
  "energy",
  "foods",
  "games",
  "hotels",
  "insurance",
  "journal"
] as const
const third = ["labs", "group"] as const
const people = ["ana", "ben", "chloe", "dmitri", "elif", "farid", "grace", "hugo", "ines", "jun"] as const

const capitalize = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

export const makeCustomers = (): ReadonlyArray<Customer> => {
  const random = makeRandom(20)
  return Array.from({ length: customerCount }, (_, index) => {
    const words = [first[index % 10], second[Math.floor(index / 10) % 10], third[Math.floor(index / 100)]].map(String)
    const name = words.join("-")
    // Half of them were there before the first day that is shown; the others signed up one after the other.
    const firstDay = index < customerCount / 2 ? 0 : Math.floor(((index - customerCount / 2) * (dayCount - 2)) / 100)
    return {
      name,
      company: words.map(capitalize).join(" "),
      email: `${random.pick(people)}@${name}.example`,
      region: random.pick(["eu", "us", "us", "apac"]),
      ...pickPlan(random),
      firstDay,
      lastDay: random.next() < 0.08 ? random.integer(firstDay + 5, dayCount + 20) : undefined
    }
  })
}
