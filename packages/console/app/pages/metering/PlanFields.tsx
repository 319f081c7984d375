import { Checkbox, Select, TextField } from "../../components/fields.tsx"
import { emptyMeter, emptyRateLimit, type PlanInput } from "./planForm.ts"
import { RowsField } from "./RowsField.tsx"

const pers = [
  { value: "second", label: "second" },
  { value: "minute", label: "minute" },
  { value: "hour", label: "hour" },
  { value: "day", label: "day" },
  { value: "custom", label: "milliseconds …" }
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
    hint="What is counted in each period, and its maximum. Names have letters, digits, “_”, “.” and “-”."
    rows={input.meters}
    emptyRow={emptyMeter}
    addLabel="Add meter"
    onChange={(meters) => onChange({ ...input, meters })}
  >
    {(meter, number, set) => (
      <>
        <TextField
          label={`Meter ${number}: name`}
          value={meter.name}
          onInput={(name) => set({ ...meter, name })}
          required
        />
        <TextField
          label={`Meter ${number}: maximum`}
          type="number"
          min={0}
          step="any"
          value={meter.max}
          onInput={(max) => set({ ...meter, max })}
          required
        />
        <TextField label={`Meter ${number}: label`} value={meter.label} onInput={(label) => set({ ...meter, label })} />
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
    {(rateLimit, number, set) => (
      <>
        <TextField
          label={`Limit ${number}: name`}
          value={rateLimit.name}
          onInput={(name) => set({ ...rateLimit, name })}
          required
        />
        <TextField
          label={`Limit ${number}: requests`}
          type="number"
          min={1}
          value={rateLimit.limit}
          onInput={(limit) => set({ ...rateLimit, limit })}
          required
        />
        <Select
          label={`Limit ${number}: per`}
          value={rateLimit.per}
          options={pers}
          onChange={(per) => set({ ...rateLimit, per })}
        />
        {rateLimit.per === "custom" && (
          <TextField
            label={`Limit ${number}: milliseconds`}
            type="number"
            min={1}
            value={rateLimit.perMs}
            onInput={(perMs) => set({ ...rateLimit, perMs })}
            required
          />
        )}
        <TextField
          label={`Limit ${number}: at once`}
          type="number"
          min={1}
          placeholder={rateLimit.limit}
          value={rateLimit.burst}
          onInput={(burst) => set({ ...rateLimit, burst })}
        />
      </>
    )}
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
        label="External id"
        hint="How your code names the plan."
        value={input.planExternalId}
        onInput={(planExternalId) => onChange({ ...input, planExternalId })}
        required
        autoComplete="off"
      />
    </div>
    <Meters input={input} onChange={onChange} />
    <RateLimits input={input} onChange={onChange} />
    <Trial input={input} onChange={onChange} />
  </>
)
