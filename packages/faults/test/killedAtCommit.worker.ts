import { createTollgate, type Tollgate, type UsageEventJson } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import type { Kill } from "./killAtCommit.ts"
import { openSharedStore } from "./sharedStores.ts"

/** What a process does when it is killed, by name. */
const works = {
  signUp: (gate: Tollgate, { name, bucketId }: { readonly name: string; readonly bucketId: string }) => {
    const subscription = { meteringBucket: bucketId, planExternalIds: ["free"] }
    return gate.account("acme").keyBucket("b").consumers.create({ name, subscription }, { withApiKey: true })
  },
  recordEvents: (
    gate: Tollgate,
    { events, bucketId }: { readonly events: ReadonlyArray<UsageEventJson>; readonly bucketId: string }
  ) => gate.account("acme").meteringBucket(bucketId).usage.recordEvents(events)
}

type Works = typeof works
export type Work = {
  [Name in keyof Works]: { readonly work: Name; readonly input: Parameters<Works[Name]>[1] }
}[keyof Works]

const start = (gate: Tollgate, work: Work): Promise<unknown> =>
  work.work === "signUp" ? works.signUp(gate, work.input) : works.recordEvents(gate, work.input)

/** Dies on the way. Says `done` if the work has fewer commits. */
process.once("message", async ({ shared, secret, commit, moment, ...work }: Kill) => {
  const opened = await openSharedStore(shared)
  let [isWorking, count] = [false, 0]
  const die = Effect.sync(() => process.kill(process.pid, "SIGKILL")).pipe(Effect.andThen(Effect.never))
  const store: StoreOperations = {
    ...opened,
    commit: (...args) => {
      const applied = opened.commit(...args)
      if (!isWorking || ++count !== commit) return applied
      // Also after a commit that is refused, such as one of a key bucket that is listed already.
      return moment === "before" ? die : Effect.andThen(Effect.exit(applied), die)
    }
  }
  const gate = await createTollgate({
    store,
    secret,
    background: false,
    logger: { debug() {}, info() {}, warn() {}, error() {} }
  })
  isWorking = true
  await start(gate, work)
  process.send?.("done")
})
