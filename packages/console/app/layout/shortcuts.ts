/** The keys that work on every page. */
import { signal } from "@preact/signals"
import { browserStorage } from "@tollgate/ui/session/storage.ts"
import { address, goTo, linkTo } from "../routing/router.ts"

export const sections = [
  { key: "o", name: "Overview", icon: "overview", path: [] },
  { key: "c", name: "Consumers", icon: "consumers", path: ["consumers"] },
  { key: "m", name: "Plans and usage", icon: "metering", path: ["metering"] },
  { key: "d", name: "Deployments", icon: "deployments", path: ["deployments"] },
  { key: "e", name: "Events", icon: "events", path: ["events"] },
  { key: "w", name: "Webhooks", icon: "webhooks", path: ["webhooks"] },
  { key: "p", name: "People", icon: "people", path: ["people"] }
] as const

/** How long after `g` the second key counts. */
const sequenceMs = 1_500

const isTyping = (target: EventTarget | null): boolean =>
  document.querySelector("dialog[open]") !== null ||
  (target instanceof HTMLElement && target.closest("input, textarea, select") !== null)

const storageKey = "tollgate-shortcuts"

/** Single keys disturb people who dictate or miss keys, so they can be turned off. */
export const areShortcutsOn = signal(browserStorage.get(storageKey) !== "off")

export const turnShortcuts = (isOn: boolean): void => {
  areShortcutsOn.value = isOn
  browserStorage.set(storageKey, isOn ? undefined : "off")
}

interface ShortcutHandlers {
  readonly onSearch: () => void
  readonly onHelp: () => void
}

const goToSection = (key: string): void => {
  const [root, account] = address.value.segments
  const section = sections.find((section) => section.key === key)
  if (root === "accounts" && account !== undefined && section !== undefined)
    goTo(linkTo(["accounts", account, ...section.path]))
}

/** Returns a function that stops listening. */
export const listenToShortcuts = ({ onSearch, onHelp }: ShortcutHandlers): (() => void) => {
  let goPressedAt = Number.NEGATIVE_INFINITY
  const handle = (event: KeyboardEvent): void => {
    if (!areShortcutsOn.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (event.timeStamp - goPressedAt < sequenceMs) {
      goPressedAt = Number.NEGATIVE_INFINITY
      goToSection(event.key)
    } else if (event.key === "g") goPressedAt = event.timeStamp
    else if (event.key === "/") {
      event.preventDefault()
      onSearch()
    } else if (event.key === "?") onHelp()
  }
  addEventListener("keydown", handle)
  return () => removeEventListener("keydown", handle)
}
