/**
 * What was used in a metering bucket, by key and label, and is not written yet: the latest uses as they came, and the others
 * added up. However many values callers send, a process keeps a bounded number of them.
 */
import type { UsedBy } from "../model/Labels.ts"
import { maxValues } from "../model/UsageGroup.ts"
import { GroupedAmounts } from "./GroupedAmounts.ts"
import { getGroupsKey, keyGroup, toLabelGroup } from "./groupRecords.ts"

/** What was counted at once. */
export interface Use {
  /** The id under which the subscription counts. */
  readonly usageId: string
  /** The day that it counts in, since the epoch. */
  readonly day: number
  readonly amounts: Readonly<Record<string, number>>
  readonly usedBy: UsedBy
}

/** After how many uses they are added up. */
export const maxUses = 100
/** How many values are kept of one bucket, and of all. What is beyond them counts as that of other values. */
const maxOfBucket = 25_000
const maxOfAll = 100_000

/** What a subscription used on a day. */
export interface NotedDay {
  readonly usageId: string
  readonly day: number
  readonly amounts: GroupedAmounts
}

export type NotedDays = Map<string, NotedDay>

/** How many values all buckets have. */
export interface NotesBudget {
  used: number
}

export class UseNotes {
  /** Added to without a function, which would lengthen the way of a decision. */
  readonly uses: Array<Use> = []
  #days: NotedDays = new Map()
  #size = 0
  readonly #budget: NotesBudget

  constructor(budget: NotesBudget) {
    this.#budget = budget
  }

  get isEmpty(): boolean {
    return this.uses.length === 0 && this.#days.size === 0
  }

  /** Adds up the uses. */
  fold(): void {
    for (const { usageId, day, amounts, usedBy } of this.uses) {
      const sums = this.#getDay(usageId, day)
      if (sums === undefined) continue
      const used = Object.entries(amounts).filter(([, amount]) => amount > 0)
      const { keyBucketName, keyId, labels = {} } = usedBy
      if (keyId !== undefined) this.#add(sums, keyGroup, `${keyBucketName} ${keyId}`, used)
      for (const [name, value] of Object.entries(labels)) this.#add(sums, toLabelGroup(name), value, used)
    }
    this.uses.length = 0
  }

  get #hasRoom(): boolean {
    return this.#size < maxOfBucket && this.#budget.used < maxOfAll
  }

  #add(sums: GroupedAmounts, name: string, value: string, used: ReadonlyArray<readonly [string, number]>): void {
    if (sums.add(name, value, used, this.#hasRoom)) this.#grow(1)
  }

  #grow(by: number): void {
    this.#size += by
    this.#budget.used += by
  }

  /** What was noted of a subscription on a day; `undefined` if there is no room for more. */
  #getDay(usageId: string, day: number): GroupedAmounts | undefined {
    const key = getGroupsKey(usageId, day)
    const known = this.#days.get(key)
    if (known !== undefined) return known.amounts
    if (!this.#hasRoom) return undefined
    const amounts = new GroupedAmounts(maxValues.subscription)
    this.#days.set(key, { usageId, day, amounts })
    this.#grow(1)
    return amounts
  }

  /** Empties the notes. */
  take(): NotedDays {
    this.fold()
    const taken = this.#days
    this.#grow(-this.#size)
    this.#days = new Map()
    return taken
  }

  /** Puts back what could not be written. */
  putBack(days: NotedDays): void {
    for (const { usageId, day, amounts } of [...days.values(), ...this.take().values()]) {
      const sums = this.#getDay(usageId, day)
      if (sums === undefined) continue
      const size = sums.size
      sums.addAll(amounts, () => this.#hasRoom)
      this.#grow(sums.size - size)
    }
  }
}
