import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { caller } from "../../session/session.ts"
import { settings } from "../../session/settings.ts"
import type { Inventory } from "./inventory.ts"

/** More consumers than the start of a server creates: somebody uses the account. */
const maxConsumers = 1

/** Whether the host offers to fill the account, and nobody uses it. */
export const isDemoOffered = ({ keyBuckets }: Inventory): boolean =>
  settings.demoPath !== undefined &&
  caller.value?.accountName === "*" &&
  keyBuckets.first.reduce((sum, { consumers }) => sum + consumers, 0) <= maxConsumers

/** Fills the demo account with one click. */
export const DemoOffer = ({ onFilled }: { readonly onFilled: () => void }) => {
  const fill = useAction(async () => {
    await request("POST", `/${settings.demoPath}`)
    onFilled()
  })
  return (
    <EmptyState title="See it with data">
      <p>
        Fill the account “demo” with 200 customers and 90 days of requests, refusals and changes. It takes about 20
        seconds. Use it to look around, not in production.
      </p>
      {fill.problem !== undefined && <ProblemNotice problem={fill.problem} />}
      <Button kind="primary" onClick={() => void fill.run()} isBusy={fill.isRunning} disabled={fill.isRunning}>
        {fill.isRunning ? "Filling…" : "Fill with demo data"}
      </Button>
    </EmptyState>
  )
}
