/**
 * What grants give, by stacks: a count puts on the stack what it takes, from the allowance, then from grants, then overage.
 * What is given back is taken from the top of the stack on which it was put. A stack ends when the sources change. Nothing in
 * it is computed from counters.
 */

export interface ModelGrant {
  readonly id: string
  readonly amount: number
  readonly priority: number
  readonly effectiveOn: number
  readonly expiresOn: number
  readonly createdOn: number
  used: number
  isVoided: boolean
  hasExpired: boolean
}

/** What plans allow of the meter. */
export interface ModelPlan {
  readonly max: number
  /** What may be used above it. */
  readonly overageMax: number
}

interface Period {
  readonly start: number
  /** Taken from plans, overage included. */
  plans: number
  /** Whether a grant was active in it. */
  hasCredit: boolean
}

interface Item {
  readonly source: ModelGrant | "plans"
  amount: number
}

interface Stack {
  readonly items: Array<Item>
  readonly period: Period
  /** What the plans had left when it began: what they give beyond it is overage. */
  readonly allowance: number
  readonly order: ReadonlyArray<ModelGrant>
}

export interface ModelReservation {
  readonly id: string
  readonly amount: number
  readonly stack: Stack
  readonly expiresOn: number
}

export class CreditModel {
  readonly grants: Array<ModelGrant> = []
  reservations: Array<ModelReservation> = []
  /** What was used for good. */
  settled = 0
  private period: Period
  private stack: Stack | undefined

  private now: number
  private plan: ModelPlan
  private periodOf: (time: number) => number

  constructor(now: number, plan: ModelPlan, periodOf: (time: number) => number) {
    this.now = now
    this.plan = plan
    this.periodOf = periodOf
    this.period = { start: periodOf(now), plans: 0, hasCredit: false }
  }

  stateOf({ isVoided, hasExpired, used, amount, effectiveOn }: ModelGrant): string {
    if (isVoided) return "voided"
    if (hasExpired) return "expired"
    if (used >= amount) return "depleted"
    return effectiveOn > this.now ? "pending" : "active"
  }

  private active(): ReadonlyArray<ModelGrant> {
    return this.grants
      .filter((grant) => this.stateOf(grant) === "active")
      .sort(
        (left, right) =>
          left.priority - right.priority ||
          (left.expiresOn === right.expiresOn ? 0 : left.expiresOn - right.expiresOn) ||
          left.createdOn - right.createdOn ||
          (left.id < right.id ? -1 : 1)
      )
  }

  endStack(): void {
    this.stack = undefined
    for (const grant of this.grants) {
      if (["active", "pending"].includes(this.stateOf(grant)) && grant.expiresOn <= this.now) grant.hasExpired = true
    }
  }

  /** Grants begin and expire, and periods end. */
  moveTo(time: number): void {
    const isDue = (boundary: number) => boundary > this.now && boundary <= time
    const begins = this.grants.some(
      (grant) => !grant.isVoided && !grant.hasExpired && grant.used < grant.amount && isDue(grant.effectiveOn)
    )
    // Of a grant that was used up, what is given back before it is settled can still expire.
    const expires = this.grants.some(
      (grant) => (this.stateOf(grant) === "active" || this.stack?.order.includes(grant)) && isDue(grant.expiresOn)
    )
    this.now = time
    const start = this.periodOf(time)
    if (start !== this.period.start) {
      this.period = { start, plans: 0, hasCredit: false }
      this.endStack()
    }
    if (begins || expires) this.endStack()
    for (const reservation of this.reservations.filter(({ expiresOn }) => expiresOn <= time)) this.end(reservation, 0)
  }

  /** A new subscription has periods of its own. */
  subscribe(periodOf: (time: number) => number): void {
    this.periodOf = periodOf
    this.period = { start: periodOf(this.now), plans: 0, hasCredit: false }
    this.endStack()
  }

  changePlan(plan: ModelPlan): void {
    if (plan.max !== this.plan.max) this.endStack()
    this.plan = plan
  }

  private openStack(): Stack {
    this.stack ??= {
      items: [],
      period: this.period,
      allowance: Math.max(0, this.plan.max - this.period.plans),
      order: this.active()
    }
    return this.stack
  }

  private get used(): number {
    return this.period.plans
  }

  /** What is possible now of allowance and grants. */
  get remaining(): number {
    return Math.max(0, this.plan.max - this.used) + this.credit
  }

  get credit(): number {
    const grants = this.stack?.order ?? this.active()
    return grants.reduce((sum, grant) => sum + grant.amount - grant.used, 0)
  }

  get overage(): number {
    return Math.max(0, this.used - this.plan.max)
  }

  canTake(amount: number): boolean {
    return amount <= this.remaining + Math.max(0, this.plan.overageMax - this.overage)
  }

  take(amount: number): Stack {
    this.read()
    const stack = this.openStack()
    let rest = amount
    const push = (source: Item["source"], most: number) => {
      const part = Math.min(rest, most)
      if (part <= 0) return
      rest -= part
      stack.items.push({ source, amount: part })
      if (source === "plans") stack.period.plans += part
      else source.used += part
    }
    const ofPlans = stack.items.reduce((sum, item) => sum + (item.source === "plans" ? item.amount : 0), 0)
    push("plans", stack.allowance - ofPlans)
    for (const grant of stack.order) push(grant, grant.amount - grant.used)
    push("plans", Number.POSITIVE_INFINITY)
    return stack
  }

  /** Gives back from the top. If the stack has ended, so does the present one: its sources may have more now. */
  private giveBack(stack: Stack, amount: number): void {
    if (amount === 0) return
    let rest = amount
    while (rest > 0) {
      const top = stack.items.at(-1)
      if (top === undefined) throw new Error("gave back more than was taken")
      const part = Math.min(rest, top.amount)
      top.amount -= part
      rest -= part
      if (top.source === "plans") stack.period.plans -= part
      else top.source.used -= part
      if (top.amount === 0) stack.items.pop()
    }
    if (stack !== this.stack && stack.period.hasCredit) this.endStack()
  }

  reserve(id: string, amount: number, expiresOn: number): void {
    this.reservations.push({ id, amount, stack: this.take(amount), expiresOn })
  }

  end(reservation: ModelReservation, used: number): void {
    this.reservations = this.reservations.filter((other) => other !== reservation)
    this.giveBack(reservation.stack, reservation.amount - used)
    this.settled += used
  }

  /** What a read shows. It also sees to it that a segment is open. */
  read() {
    if (this.active().length > 0) this.period.hasCredit = true
    const { remaining, overage, credit } = this
    return { plans: this.period.plans, remaining, overage, credit }
  }
}
