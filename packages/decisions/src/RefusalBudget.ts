/**
 * How many refusals a process notes between two writes: in all, and of one account, so that it leaves room for the others.
 */
const maxRefusals = 20_000
const maxOfAccount = 5_000

export class RefusalBudget {
  #total = 0
  readonly #byAccount = new Map<string, number>()

  /** Takes the room of one refusal. Returns whether there was any. */
  take(accountName: string): boolean {
    const ofAccount = this.#byAccount.get(accountName) ?? 0
    if (this.#total >= maxRefusals || ofAccount >= maxOfAccount) return false
    this.#total++
    this.#byAccount.set(accountName, ofAccount + 1)
    return true
  }

  free(accountName: string, count: number): void {
    const ofAccount = (this.#byAccount.get(accountName) ?? 0) - count
    this.#total -= count
    if (ofAccount > 0) this.#byAccount.set(accountName, ofAccount)
    else this.#byAccount.delete(accountName)
  }
}
