import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import type { RateLimitInput } from "./planForm.ts"

const pers = [
  { value: "second", label: "second" },
  { value: "minute", label: "minute" },
  { value: "hour", label: "hour" },
  { value: "day", label: "day" },
  { value: "custom", label: "milliseconds …" }
]

export interface RateLimitFieldsProps {
  readonly rateLimit: RateLimitInput
  readonly number: number
  readonly set: (rateLimit: RateLimitInput) => void
  /** Whether it can be lifted. */
  readonly canBeNone?: boolean
}

/** The fields of a row for a rate limit. */
export const RateLimitFields = ({ rateLimit, number, set, canBeNone = false }: RateLimitFieldsProps) => (
  <>
    <TextField
      label={`Limit ${number}: name`}
      value={rateLimit.name}
      onInput={(name) => set({ ...rateLimit, name })}
      required
    />
    <Select
      label={`Limit ${number}: per`}
      value={rateLimit.per}
      options={canBeNone ? [...pers, { value: "none", label: "no limit" }] : pers}
      onChange={(per) => set({ ...rateLimit, per })}
    />
    {rateLimit.per !== "none" && (
      <TextField
        label={`Limit ${number}: requests`}
        type="number"
        min={1}
        value={rateLimit.limit}
        onInput={(limit) => set({ ...rateLimit, limit })}
        required
      />
    )}
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
    {rateLimit.per !== "none" && (
      <TextField
        label={`Limit ${number}: at once`}
        type="number"
        min={1}
        placeholder={rateLimit.limit}
        value={rateLimit.burst}
        onInput={(burst) => set({ ...rateLimit, burst })}
      />
    )}
  </>
)
