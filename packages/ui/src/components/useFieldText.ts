import { useState } from "preact/hooks"

/** The text of a field, which starts as the value in the address, and starts again when that changes. */
export const useFieldText = (value: string): readonly [text: string, setText: (text: string) => void] => {
  const [field, setField] = useState({ value, text: value })
  // While rendering: an effect would run after the first paint, and discard what one has typed until then.
  if (field.value !== value) setField({ value, text: value })
  return [field.value === value ? field.text : value, (text) => setField({ value, text })]
}
