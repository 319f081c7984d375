/** Dark or light: as the system says, unless the person has chosen. */
import { effect, signal } from "@preact/signals"

export type Theme = "system" | "light" | "dark"

const storageKey = "tollgate-theme"

const parse = (value: string | null): Theme => (value === "light" || value === "dark" ? value : "system")

export const theme = signal<Theme>(parse(localStorage.getItem(storageKey)))

effect(() => {
  localStorage.setItem(storageKey, theme.value)
  document.documentElement.dataset["theme"] = theme.value
})
