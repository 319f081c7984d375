import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { emptyFeature, type FeatureInput } from "./featureForm.ts"
import { RowsField } from "./RowsField.tsx"

const kinds = [
  { value: "on", label: "on" },
  { value: "number", label: "a number …" },
  { value: "text", label: "a text …" }
]

export interface FeatureRowsProps {
  readonly hint: string
  readonly rows: ReadonlyArray<FeatureInput>
  /** Whether a feature can be taken away. */
  readonly canBeOff?: boolean
  readonly onChange: (rows: ReadonlyArray<FeatureInput>) => void
}

export const FeatureRows = ({ hint, rows, canBeOff = false, onChange }: FeatureRowsProps) => (
  <RowsField
    legend="Features"
    hint={hint}
    rows={rows}
    emptyRow={emptyFeature}
    addLabel="Add feature"
    onChange={onChange}
  >
    {(feature, number, set) => (
      <>
        <TextField
          label={`Feature ${number}: name`}
          value={feature.name}
          onInput={(name) => set({ ...feature, name })}
          required
        />
        <Select
          label={`Feature ${number}: is`}
          value={feature.kind}
          options={canBeOff ? [...kinds, { value: "off", label: "off" }] : kinds}
          onChange={(kind) => set({ ...feature, kind: kind as FeatureInput["kind"] })}
        />
        {(feature.kind === "number" || feature.kind === "text") && (
          <TextField
            label={`Feature ${number}: value`}
            {...(feature.kind === "number" ? { type: "number", min: 0, step: "any" } : {})}
            value={feature.value}
            onInput={(value) => set({ ...feature, value })}
            required
          />
        )}
      </>
    )}
  </RowsField>
)
