import { TextField } from "@tollgate/ui/components/fields.tsx"

interface NamedMaximum {
  readonly name: string
  readonly max: string
}

/** The first fields of a row for a meter. */
export const MeterFields = <Row extends NamedMaximum>({
  meter,
  number,
  set,
  needsMax
}: {
  readonly meter: Row
  readonly number: number
  readonly set: (meter: Row) => void
  readonly needsMax: boolean
}) => (
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
      required={needsMax}
    />
  </>
)
