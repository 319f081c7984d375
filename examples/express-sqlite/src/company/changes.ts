/** What people have changed on which day: the stories that a support team asks about. */
import { dayCount } from "./customers.ts"
import type { Person } from "./people.ts"

export interface Change {
  readonly day: number
  readonly by: string
  readonly run: (person: Person, paths: Paths) => Promise<unknown>
}

export interface Paths {
  readonly consumer: (name: string) => string
  readonly customer: (name: string) => string
  readonly plans: string
}

const changePlan =
  (name: string, plan: string) =>
  (person: Person, { customer }: Paths) =>
    person.send("POST", `${customer(name)}/plan`, { planExternalIds: [plan], at: "now" })

export const changes: ReadonlyArray<Change> = [
  { day: 30, by: "Ann Lee", run: changePlan("cedar-bank-labs", "pro") },
  { day: 61, by: "Ben Ortiz", run: changePlan("fjord-energy-labs", "scale") },
  {
    day: 70,
    by: "Ann Lee",
    run: (person, { consumer }) => person.send("PATCH", consumer("harbor-games-labs"), { disabled: true })
  },
  {
    day: 75,
    by: "Chen Wei",
    run: (person, { customer }) => person.send("POST", `${customer("grove-foods-labs")}/cancel`, { at: "now" })
  },
  {
    day: 82,
    by: "Ben Ortiz",
    run: (person, { consumer }) =>
      person.send("PATCH", consumer("ember-clinic-labs"), { tags: { tier: "vip", region: "eu" } })
  },
  { day: dayCount - 2, by: "Ann Lee", run: changePlan("delta-hotels-labs", "pro") },
  {
    day: dayCount - 1,
    by: "Chen Wei",
    run: (person, { consumer }) =>
      person.send("PATCH", consumer("birch-dynamics-labs"), { description: "Asked for an invoice in euros" })
  }
]
