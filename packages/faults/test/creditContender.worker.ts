import { createTollgate, isTollgateError } from "@tollgate/core"
import { makeRandom } from "./random.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface CreditContenderInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly seed: number
  readonly calls: number
  /** Calls again and again for so long instead. */
  readonly forMs?: number
  /** Also reserves, gives back, grants and voids. Otherwise it only consumes. */
  readonly isMixed: boolean
}

export interface CreditContenderResult {
  /** The usage that was acknowledged. */
  readonly used: number
  /** How many calls were refused. */
  readonly refused: number
  readonly failures: ReadonlyArray<string>
}

/** A call that is on the way for long may grant something that has expired. */
const refusals = ["quota-exceeded", "too-many-grants", "bad-request"]

const kinds = [...Array(6).fill("consume"), ...Array(6).fill("reserve"), "grant", "void", "expire"]

/** Uses the credit of one customer by many calls at once. */
process.on("message", async ({ shared, secret, seed, calls, forMs, isMixed }: CreditContenderInput) => {
  const gate = await createTollgate({ store: await openSharedStore(shared), secret })
  const alice = gate.account("acme").meteringBucket("default").customer("alice")
  const { pick, below } = makeRandom(seed)
  let [used, refused] = [0, 0]
  const failures: Array<string> = []
  const grants: Array<string> = []
  const callOnce = async () => {
    const tokens = 1 + below(isMixed ? 4 : 1)
    switch (isMixed ? pick(kinds) : "consume") {
      case "consume":
        await alice.consume({ tokens })
        used += tokens
        break
      case "reserve": {
        const { id } = await alice.reserve({ meters: { tokens }, expiresIn: 60 })
        await callOnce()
        const settled = below(tokens + 1)
        await alice.settle(id, { meters: { tokens: settled } })
        used += settled
        break
      }
      case "grant":
        grants.push((await alice.grants.create({ meter: "tokens", amount: 5, priority: below(256) })).id)
        break
      case "expire":
        await alice.grants.create({ meter: "tokens", amount: 5, expiresOn: new Date(Date.now() + 300 + below(3_000)) })
        break
      case "void": {
        const id = grants.pop()
        if (id !== undefined) await alice.grants.void(id)
      }
    }
  }
  const end = forMs === undefined ? undefined : performance.now() + forMs
  const runLane = async (lane: number) => {
    for (let call = lane; end === undefined ? call < calls : performance.now() < end; call += 4) {
      await callOnce().catch((error) => {
        // After too many conflicts in a row, a call is given up, and has changed nothing.
        const isGivenUp = error?._tag === "StoreConflict" && isMixed
        if (isGivenUp || (isTollgateError(error) && refusals.includes(String(error.code)))) refused++
        else failures.push(String(error?.stack ?? error))
      })
    }
  }
  await Promise.all([0, 1, 2, 3].map(runLane))
  const result: CreditContenderResult = { used, refused, failures }
  process.send?.(result)
  await gate.close()
})
