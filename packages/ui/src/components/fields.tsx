/** Form fields: a label, the control, a hint, and what is wrong with it. */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"

interface FieldProps {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
}

interface ControlAttributes {
  readonly id: string
  readonly "aria-describedby": string | undefined
  readonly "aria-invalid": boolean
}

const Field = ({
  label,
  hint,
  error,
  children
}: FieldProps & { readonly children: (attributes: ControlAttributes) => ComponentChildren }) => {
  const id = useId()
  const describedBy = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`]
    .filter((name) => name !== "")
    .join(" ")
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": describedBy || undefined, "aria-invalid": error !== undefined })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

interface TextProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly required?: boolean | undefined
  readonly placeholder?: string | undefined
  readonly autoFocus?: boolean | undefined
}

export interface TextFieldProps extends TextProps {
  readonly type?: "text" | "password" | "number" | "url" | "datetime-local" | "date" | "search" | undefined
  readonly autoComplete?: string | undefined
  readonly pattern?: string | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
  /** For numbers: `any` allows fractions. */
  readonly step?: "any" | undefined
  readonly maxLength?: number | undefined
  readonly list?: string | undefined
}

export const TextField = ({
  label,
  hint,
  error,
  value,
  onInput,
  type = "text",
  autoFocus = false,
  ...attributes
}: TextFieldProps) => {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (autoFocus) input.current?.focus()
  }, [autoFocus])
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          ref={input}
          // The types of Preact know no input whose type is a variable.
          type={type as "text"}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          spellcheck={false}
          {...attributes}
          {...control}
        />
      )}
    </Field>
  )
}

export const TextArea = ({
  label,
  hint,
  error,
  value,
  onInput,
  rows = 4,
  ...attributes
}: TextProps & { readonly rows?: number }) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => (
      <textarea
        rows={rows}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        spellcheck={false}
        {...attributes}
        {...control}
      />
    )}
  </Field>
)

export interface SelectOption {
  readonly value: string
  readonly label: string
}

export interface SelectProps extends FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: ReadonlyArray<SelectOption>
  readonly required?: boolean | undefined
}

export const Select = ({ label, hint, error, value, onChange, options, required }: SelectProps) => (
  <Field label={label} hint={hint} error={error}>
    {(control) => (
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)} required={required} {...control}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

export const Checkbox = ({
  label,
  checked,
  onChange,
  disabled
}: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
}) => (
  <label class="checkbox">
    <input
      type="checkbox"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
    {label}
  </label>
)
