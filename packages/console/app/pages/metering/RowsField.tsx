import { Button } from "@tollgate/ui/components/Button.tsx"
import type { ComponentChildren } from "preact"

export interface RowsFieldProps<Row> {
  readonly legend: string
  readonly hint: string
  readonly rows: ReadonlyArray<Row>
  readonly emptyRow: Row
  readonly addLabel: string
  readonly onChange: (rows: ReadonlyArray<Row>) => void
  /** The fields of a row. Numbers start with 1. */
  readonly children: (row: Row, number: number, set: (row: Row) => void) => ComponentChildren
}

/** A list of rows with the same fields, such as the meters of a plan. */
export const RowsField = <Row,>({
  legend,
  hint,
  rows,
  emptyRow,
  addLabel,
  onChange,
  children
}: RowsFieldProps<Row>) => (
  <fieldset class="field pairs">
    <legend>{legend}</legend>
    <p class="hint">{hint}</p>
    {rows.map((row, index) => (
      <div class="row-fields" key={index}>
        {children(row, index + 1, (changed) => onChange(rows.with(index, changed)))}
        <Button
          isSmall
          label={`${legend}: remove row ${index + 1}`}
          onClick={() => onChange(rows.filter((_, position) => position !== index))}
        >
          ×
        </Button>
      </div>
    ))}
    <Button isSmall onClick={() => onChange([...rows, emptyRow])}>
      {addLabel}
    </Button>
  </fieldset>
)
