import { TextField } from "@tollgate/ui/components/fields.tsx"

/** What was entered for each meter; an empty text counts nothing. */
export type AmountTexts = Readonly<Record<string, string>>

export const toAmounts = (texts: AmountTexts): Record<string, number> =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text !== "")
      .map(([meter, text]) => [meter, Number(text)])
  )

/** A number for each meter. */
export const AmountsField = ({
  meters,
  amounts,
  onChange,
  min,
  maxima = {}
}: {
  readonly meters: ReadonlyArray<string>
  readonly amounts: AmountTexts
  readonly onChange: (amounts: AmountTexts) => void
  readonly min: number
  readonly maxima?: Readonly<Record<string, number>>
}) => (
  <div class="field-pair">
    {meters.map((meter) => (
      <TextField
        key={meter}
        label={`Amount of ${meter}`}
        type="number"
        min={min}
        max={Object.hasOwn(maxima, meter) ? maxima[meter] : undefined}
        value={Object.hasOwn(amounts, meter) ? (amounts[meter] ?? "") : ""}
        onInput={(text) => onChange({ ...amounts, [meter]: text })}
      />
    ))}
  </div>
)
