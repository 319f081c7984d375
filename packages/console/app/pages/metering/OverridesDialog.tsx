import { ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import { useState } from "preact/hooks"
import type { EditSubscriptionDialogProps, RaisedMeter } from "./EditSubscriptionDialog.tsx"
import { FeatureRows } from "./FeatureRows.tsx"
import { MeterFields } from "./MeterFields.tsx"
import { toSubscriptionPath } from "./meteringAddresses.ts"
import {
  compareOverrides,
  emptyMeterOverride,
  type MeterOverrideInput,
  type OverridesInput,
  toOverridesBody,
  toOverridesInput
} from "./overridesForm.ts"
import { emptyRateLimit } from "./planForm.ts"
import { RateLimitFields } from "./RateLimitFields.tsx"
import { RowsField } from "./RowsField.tsx"

const softOptions = [
  { value: "", label: "as in the plan" },
  { value: "yes", label: "soft" },
  { value: "no", label: "hard" }
]

/** Adds a row for a meter that the overrides do not have, with its present maximum. */
const raiseMeter = (input: OverridesInput, raised: RaisedMeter | undefined): OverridesInput =>
  raised === undefined || input.meters.some(({ name }) => name === raised.name)
    ? input
    : { ...input, meters: [...input.meters, { ...emptyMeterOverride, name: raised.name, max: String(raised.max) }] }

/** An exception for one customer, without a plan of its own. */
export const OverridesDialog = ({
  bucket,
  subscription,
  version,
  raised,
  onSaved,
  onClose
}: EditSubscriptionDialogProps) => {
  const [input, setInput] = useState(() => raiseMeter(toOverridesInput(subscription), raised))
  const change = (changed: Partial<OverridesInput>): void => setInput({ ...input, ...changed })
  const path = toSubscriptionPath(bucket, subscription.id)
  const { theirs, save, resolve } = useVersionedEdit(path, { value: subscription, version })
  const saveOverrides = useAction(async () => {
    if (!(await save(toOverridesBody(input)))) return
    showToast(`The overrides for ${subscription.customerKey} were saved.`)
    onSaved()
    onClose()
  })
  return (
    <FormDialog
      title={`Overrides for ${subscription.customerKey}`}
      submitLabel="Save"
      action={saveOverrides}
      onClose={onClose}
    >
      <RowsField
        legend="Meters"
        hint="Other maxima than those of the plans, or more meters. What is left empty stays as in the plans."
        rows={input.meters}
        emptyRow={emptyMeterOverride}
        addLabel="Add meter"
        onChange={(meters) => change({ meters })}
      >
        {(meter, number, set) => (
          <>
            <MeterFields meter={meter} number={number} set={set} needsMax={false} />
            <Select
              label={`Meter ${number}: limit`}
              value={meter.isSoftLimit}
              options={softOptions}
              onChange={(isSoftLimit) =>
                set({ ...meter, isSoftLimit: isSoftLimit as MeterOverrideInput["isSoftLimit"] })
              }
            />
            {meter.isSoftLimit !== "no" && (
              <TextField
                label={`Meter ${number}: overage up to`}
                type="number"
                min={0}
                step="any"
                value={meter.overageMax}
                onInput={(overageMax) => set({ ...meter, overageMax })}
              />
            )}
          </>
        )}
      </RowsField>
      <RowsField
        legend="Rate limits"
        hint="Other rate limits than those of the plans with the same name, more of them, or none."
        rows={input.rateLimits}
        emptyRow={emptyRateLimit}
        addLabel="Add rate limit"
        onChange={(rateLimits) => change({ rateLimits })}
      >
        {(rateLimit, number, set) => <RateLimitFields rateLimit={rateLimit} number={number} set={set} canBeNone />}
      </RowsField>
      <FeatureRows
        hint="Features that this customer has, has with another value, or lacks."
        rows={input.features}
        canBeOff
        onChange={(features) => change({ features })}
      />
      {theirs !== undefined && (
        <ConflictNotice
          fields={compareOverrides(input, toOverridesInput(theirs))}
          onKeepMine={() => void saveOverrides.run()}
          onTakeTheirs={() => {
            setInput(toOverridesInput(theirs))
            resolve()
          }}
        />
      )}
    </FormDialog>
  )
}
