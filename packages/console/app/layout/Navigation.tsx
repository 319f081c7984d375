import { Button } from "@tollgate/ui/components/Button.tsx"
import { Checkbox, Select } from "@tollgate/ui/components/fields.tsx"
import { Icon } from "@tollgate/ui/components/Icon.tsx"
import { type Theme, theme } from "@tollgate/ui/theme/theme.ts"
import { useEffect, useState } from "preact/hooks"
import type { CallerJson } from "../api/types.ts"
import { describeGrant, mayAll } from "../pages/people/grants.ts"
import { address, linkTo } from "../routing/router.ts"
import { caller, isKeptInTab, keepInTab, signOut } from "../session/session.ts"
import { productName, settings } from "../session/settings.ts"
import { AccountSwitcher } from "./AccountSwitcher.tsx"
import { areShortcutsOn, sections, turnShortcuts } from "./shortcuts.ts"

export interface NavigationProps {
  readonly account: string | undefined
  readonly onSearch: () => void
  readonly onHelp: () => void
}

const themes: ReadonlyArray<{ readonly value: Theme; readonly label: string }> = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" }
]

/** Who is signed in, and what they may do: why others see buttons that are not here. */
const Caller = ({ caller }: { readonly caller: CallerJson }) => (
  <p class="caller hint">
    {caller.name ?? "You"}: {describeGrant(caller)}. {!mayAll(caller) && "What else one can do is not shown."}
  </p>
)

export const Navigation = ({ account, onSearch, onHelp }: NavigationProps) => {
  const current = address.value.segments[2]
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => setIsOpen(false), [address.value])
  return (
    <nav class={isOpen ? "navigation open" : "navigation"} aria-label="Main">
      <div class="navigation-head">
        <a class="brand" href="#/">
          {settings.brand?.logo !== undefined && <img class="logo" src={settings.brand.logo} alt="" />}
          {productName}
        </a>
        <button
          type="button"
          class="button plain small menu-button"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name="menu" /> Menu
        </button>
      </div>
      {account !== undefined && (
        <>
          <div class="account-name">
            <span>{account}</span>
            {caller.value?.accountName === "*" && <AccountSwitcher account={account} />}
          </div>
          <ul>
            {sections.map(({ name, icon, path }) => (
              <li key={name}>
                <a
                  href={linkTo(["accounts", account, ...path])}
                  aria-current={current === path[0] ? "page" : undefined}
                >
                  <Icon name={icon} />
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="navigation-tools">
        <Button isSmall onClick={onSearch}>
          <Icon name="search" /> Search <kbd>/</kbd>
        </Button>
        <Button isSmall onClick={onHelp}>
          <Icon name="help" /> Help <kbd>?</kbd>
        </Button>
        {caller.value !== undefined && <Caller caller={caller.value} />}
        <details class="settings">
          <summary>Settings</summary>
          <Select
            label="Colours"
            value={theme.value}
            onChange={(value) => (theme.value = value as Theme)}
            options={themes}
          />
          <Checkbox label="Keyboard shortcuts" checked={areShortcutsOn.value} onChange={turnShortcuts} />
          <Checkbox label="Stay signed in when this tab reloads" checked={isKeptInTab.value} onChange={keepInTab} />
          <Button isSmall onClick={signOut}>
            Sign out
          </Button>
        </details>
      </div>
    </nav>
  )
}
