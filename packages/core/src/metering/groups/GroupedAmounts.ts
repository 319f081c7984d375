/**
 * Amounts of meters by group and value, of one subscription or bucket on one day. It has at most so many groups and values;
 * what is beyond them is added up.
 */
import { type DayGroups, keyGroup, maxLabelNames } from "./groupRecords.ts"

type AmountByMeter = Map<string, number>

interface Group {
  readonly values: Map<string, AmountByMeter>
  readonly other: AmountByMeter
}

const add = (sums: AmountByMeter, amounts: Iterable<readonly [string, number]>): void => {
  for (const [meter, amount] of amounts) {
    // Beyond 2^53 - 1, a sum stays as it is.
    const sum = (sums.get(meter) ?? 0) + amount
    if (Number.isSafeInteger(sum)) sums.set(meter, sum)
  }
}

export class GroupedAmounts {
  readonly groups = new Map<string, Group>()
  readonly #maxValues: number

  constructor(maxValues: number, { groups }: Pick<DayGroups, "groups"> = { groups: {} }) {
    this.#maxValues = maxValues
    for (const [name, { values, other }] of Object.entries(groups)) {
      this.groups.set(name, {
        values: new Map(values.map(([value, amounts]) => [value, new Map(Object.entries(amounts))])),
        other: new Map(Object.entries(other))
      })
    }
  }

  /**
   * Adds the amounts of a value, or of all others if it is `undefined`. `mayIntroduce`: whether a new value gets a place of its
   * own. Returns whether it got one.
   */
  add(
    name: string,
    value: string | undefined,
    amounts: Iterable<readonly [string, number]>,
    mayIntroduce = true
  ): boolean {
    const group = this.#getGroup(name)
    if (group === undefined) return false
    const { values, other } = group
    const known = value === undefined ? other : values.get(value)
    const isNew = value !== undefined && known === undefined && mayIntroduce && values.size < this.#maxValues
    const sums = isNew ? new Map() : (known ?? other)
    if (isNew) values.set(value, sums)
    add(sums, amounts)
    return isNew
  }

  /** Adds all of another one. `mayIntroduce` says of each value whether it gets its place if it is new. */
  addAll({ groups }: GroupedAmounts, mayIntroduce?: (name: string, value: string) => boolean): void {
    for (const [name, { values, other }] of groups) {
      for (const [value, amounts] of values) this.add(name, value, amounts, mayIntroduce?.(name, value))
      if (other.size > 0) this.add(name, undefined, other)
    }
  }

  /** Whether a value is among the first ones of its group. */
  isAmongFirst(count: number, name: string, value: string): boolean {
    let place = 0
    for (const known of this.groups.get(name)?.values.keys() ?? []) {
      if (known === value) return true
      if (++place >= count) return false
    }
    return false
  }

  get size(): number {
    let size = 0
    for (const { values } of this.groups.values()) size += values.size
    return size
  }

  /** The group; `undefined` if it is that of a label beyond those that are grouped by. */
  #getGroup(name: string): Group | undefined {
    const known = this.groups.get(name)
    if (known !== undefined) return known
    const labels = this.groups.size - (this.groups.has(keyGroup) ? 1 : 0)
    if (name !== keyGroup && labels >= maxLabelNames) return undefined
    const group = { values: new Map(), other: new Map() }
    this.groups.set(name, group)
    return group
  }

  toGroups(): DayGroups["groups"] {
    return Object.fromEntries(
      [...this.groups].map(([name, { values, other }]) => [
        name,
        {
          values: [...values].map(([value, amounts]) => [value, Object.fromEntries(amounts)] as const),
          other: Object.fromEntries(other)
        }
      ])
    )
  }
}
