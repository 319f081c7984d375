import { Checkbox, Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { FeatureRows } from "./FeatureRows.tsx"
import { MeterFields } from "./MeterFields.tsx"
import { emptyMeter, emptyRateLimit, type PlanInput } from "./planForm.ts"
import { RateLimitFields } from "./RateLimitFields.tsx"
import { RowsField } from "./RowsField.tsx"

const periods = [
  { value: "", label: "with the subscription" },
  { value: "hour", label: "every hour" },
  { value: "day", label: "every day" },
  { value: "week", label: "every week" },
  { value: "month", label: "every month" },
  { value: "year", label: "every year" },
  { value: "none", label: "never" }
]

const trialEndStatuses = [
  { value: "", label: "active" },
  { value: "paused", label: "paused" },
  { value: "canceled", label: "canceled" }
]

interface PlanFieldsProps {
  readonly input: PlanInput
  readonly onChange: (input: PlanInput) => void
}

const Meters = ({ input, onChange }: PlanFieldsProps) => (
  <RowsField
    legend="Meters"
    hint="What is counted in each period, and its maximum. Use above a soft limit is counted, and not refused."
    rows={input.meters}
    emptyRow={emptyMeter}
    addLabel="Add meter"
    onChange={(meters) => onChange({ ...input, meters })}
  >
    {(meter, number, set) => (
      <>
        <MeterFields meter={meter} number={number} set={set} needsMax />
        <TextField label={`Meter ${number}: label`} value={meter.label} onInput={(label) => set({ ...meter, label })} />
        <Select
          label={`Meter ${number}: resets`}
          value={meter.period}
          options={periods}
          onChange={(period) => set({ ...meter, period })}
        />
        <Checkbox
          label={`Meter ${number}: soft limit`}
          checked={meter.isSoftLimit}
          onChange={(isSoftLimit) => set({ ...meter, isSoftLimit })}
        />
        {meter.isSoftLimit && (
          <TextField
            label={`Meter ${number}: overage up to`}
            type="number"
            min={0}
            step="any"
            placeholder="any"
            value={meter.overageMax}
            onInput={(overageMax) => set({ ...meter, overageMax })}
          />
        )}
      </>
    )}
  </RowsField>
)

const RateLimits = ({ input, onChange }: PlanFieldsProps) => (
  <RowsField
    legend="Rate limits"
    hint="How many requests each subscription may make. Without them, only the meters count."
    rows={input.rateLimits}
    emptyRow={emptyRateLimit}
    addLabel="Add rate limit"
    onChange={(rateLimits) => onChange({ ...input, rateLimits })}
  >
    {(rateLimit, number, set) => <RateLimitFields rateLimit={rateLimit} number={number} set={set} />}
  </RowsField>
)

const Trial = ({ input, onChange }: PlanFieldsProps) => (
  <>
    <div class="field-pair">
      <TextField
        label="Trial in days"
        hint="For subscriptions that begin with the status trialing."
        type="number"
        min={0}
        max={3650}
        value={input.trialDays}
        onInput={(trialDays) => onChange({ ...input, trialDays })}
      />
      <Select
        label="After the trial"
        value={input.trialEndStatus}
        options={trialEndStatuses}
        onChange={(trialEndStatus) => onChange({ ...input, trialEndStatus })}
      />
    </div>
    <Checkbox
      label="Collect payment for the trial (stored for your billing; Tollgate does not use it)"
      checked={input.isTrialCollectPayment}
      onChange={(isTrialCollectPayment) => onChange({ ...input, isTrialCollectPayment })}
    />
  </>
)

/** Everything that a plan has. */
export const PlanFields = ({ input, onChange }: PlanFieldsProps) => (
  <>
    <div class="field-pair">
      <TextField
        label="Label"
        value={input.label}
        onInput={(label) => onChange({ ...input, label })}
        required
        autoFocus
        autoComplete="off"
      />
      <TextField
        label="Your id of the plan"
        hint="How your code names the plan."
        value={input.planExternalId}
        onInput={(planExternalId) => onChange({ ...input, planExternalId })}
        required
        autoComplete="off"
      />
    </div>
    <Meters input={input} onChange={onChange} />
    <RateLimits input={input} onChange={onChange} />
    <FeatureRows
      hint="What else the plan gives: switches, numbers and texts that your code reads."
      rows={input.features}
      onChange={(features) => onChange({ ...input, features })}
    />
    <Trial input={input} onChange={onChange} />
  </>
)
