/** Short messages about what was done, with a way to take it back where there is one. */
import { signal } from "@preact/signals"
import { words } from "../words.ts"
import { Button } from "./Button.tsx"

interface Toast {
  readonly id: number
  readonly message: string
  readonly undo: (() => void) | undefined
}

const visibleMs = 8_000
const maxToasts = 3

const toasts = signal<ReadonlyArray<Toast>>([])
let lastId = 0

const dismiss = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

export const showToast = (message: string, undo?: () => void): void => {
  const id = ++lastId
  toasts.value = [...toasts.value, { id, message, undo }].slice(-maxToasts)
  setTimeout(() => dismiss(id), visibleMs)
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, message, undo }) => (
      <div key={id} class="toast">
        <span>{message}</span>
        {undo !== undefined && (
          <Button
            isSmall
            onClick={() => {
              dismiss(id)
              undo()
            }}
          >
            {words.undo}
          </Button>
        )}
        <Button isSmall label={words.dismiss} onClick={() => dismiss(id)}>
          ×
        </Button>
      </div>
    ))}
  </div>
)
