import { useId } from "preact/hooks"
import { Button } from "./Button.tsx"

export type Pairs = ReadonlyArray<readonly [name: string, value: string]>

export interface PairsFieldProps {
  readonly label: string
  readonly pairs: Pairs
  readonly onChange: (pairs: Pairs) => void
  readonly addLabel: string
}

export const toRecord = (pairs: Pairs): Record<string, string> =>
  Object.fromEntries(pairs.filter(([name]) => name !== ""))

/** Edits names and values, such as tags. */
export const PairsField = ({ label, pairs, onChange, addLabel }: PairsFieldProps) => {
  const id = useId()
  const replace = (index: number, pair: readonly [string, string] | undefined): void =>
    onChange(pairs.flatMap((other, position) => (position === index ? (pair === undefined ? [] : [pair]) : [other])))
  return (
    <fieldset class="field pairs">
      <legend>{label}</legend>
      {pairs.map(([name, value], index) => (
        <div class="pair" key={index}>
          <input
            id={`${id}-${index}`}
            aria-label={`${label}: name ${index + 1}`}
            value={name}
            placeholder="name"
            onInput={(event) => replace(index, [event.currentTarget.value, value])}
          />
          <input
            aria-label={`${label}: value ${index + 1}`}
            value={value}
            placeholder="value"
            onInput={(event) => replace(index, [name, event.currentTarget.value])}
          />
          <Button isSmall label={`Remove ${name || `row ${index + 1}`}`} onClick={() => replace(index, undefined)}>
            ×
          </Button>
        </div>
      ))}
      <Button isSmall onClick={() => onChange([...pairs, ["", ""]])}>
        {addLabel}
      </Button>
    </fieldset>
  )
}
