import { readAllPages } from "@tollgate/ui/api/request.ts"
import { Checkbox, TextField } from "@tollgate/ui/components/fields.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { PlanJson } from "../../api/types.ts"
import { toBucketPath } from "./meteringAddresses.ts"

/** The number of plans above which they can be filtered. */
const manyPlans = 8

/** A plan that was chosen: requests name it by both. */
export interface PickedPlan {
  readonly id: string
  readonly planExternalId: string
}

export interface PlanPickerProps {
  readonly bucket: string
  readonly picked: ReadonlyArray<PickedPlan>
  readonly onChange: (picked: ReadonlyArray<PickedPlan>) => void
}

/** Chooses one or more plans of a metering bucket. */
export const PlanPicker = ({ bucket, picked, onChange }: PlanPickerProps) => {
  const [text, setText] = useState("")
  const plans = useQuery(`plans ${bucket}`, (signal) => readAllPages<PlanJson>(`${toBucketPath(bucket)}/plans`, signal))
  const isPicked = (plan: PlanJson): boolean => picked.some(({ id }) => id === plan.id)
  const isShown = (plan: PlanJson): boolean =>
    isPicked(plan) || `${plan.label} ${plan.planExternalId}`.toLowerCase().includes(text.toLowerCase())
  const toggle = ({ id, planExternalId }: PlanJson, isChosen: boolean): void =>
    onChange(isChosen ? [...picked, { id, planExternalId }] : picked.filter((plan) => plan.id !== id))
  return (
    <QueryView query={plans}>
      {(data) => (
        <>
          {data.length > manyPlans && (
            // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps Enter in the field from sending the form
            <div onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}>
              <TextField label="Find a plan" type="search" value={text} onInput={setText} autoComplete="off" />
            </div>
          )}
          <fieldset class="plan-picker">
            <legend>Plans</legend>
            {data.length === 0 && <p>There is no plan yet. Create one first, in the tab Plans.</p>}
            {data.filter(isShown).map((plan) => (
              <Checkbox
                key={plan.id}
                label={`${plan.label} (${plan.planExternalId})`}
                checked={isPicked(plan)}
                onChange={(isChosen) => toggle(plan, isChosen)}
              />
            ))}
          </fieldset>
        </>
      )}
    </QueryView>
  )
}
