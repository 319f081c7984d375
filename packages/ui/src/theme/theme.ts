/** Dark or light: as the system says, unless the person has chosen. */
import { effect, signal } from "@preact/signals"
import { browserStorage } from "../session/storage.ts"

export type Theme = "system" | "light" | "dark"

const storageKey = "tollgate-theme"

const parse = (value: string | undefined): Theme => (value === "light" || value === "dark" ? value : "system")

export const theme = signal<Theme>(parse(browserStorage.get(storageKey)))

effect(() => {
  browserStorage.set(storageKey, theme.value)
  document.documentElement.dataset["theme"] = theme.value
})
