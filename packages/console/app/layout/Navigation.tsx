import { Button } from "../components/Button.tsx"
import { Checkbox, Select } from "../components/fields.tsx"
import { address, linkTo } from "../routing/router.ts"
import { caller, isKeptInTab, keepInTab, signOut } from "../session/session.ts"
import { areShortcutsOn, sections, turnShortcuts } from "./shortcuts.ts"
import { type Theme, theme } from "./theme.ts"

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

export const Navigation = ({ account, onSearch, onHelp }: NavigationProps) => {
  const current = address.value.segments[2]
  return (
    <nav class="navigation" aria-label="Main">
      <a class="brand" href="#/">
        Tollgate
      </a>
      {account !== undefined && (
        <>
          <p class="account-name">
            {account}
            {caller.value?.accountName === "*" && <a href="#/">Change account</a>}
          </p>
          <ul>
            {sections.map(({ name, path }) => (
              <li key={name}>
                <a
                  href={linkTo(["accounts", account, ...path])}
                  aria-current={current === path[0] ? "page" : undefined}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="navigation-tools">
        <Button isSmall onClick={onSearch}>
          Search <kbd>/</kbd>
        </Button>
        <Button isSmall onClick={onHelp}>
          Help <kbd>?</kbd>
        </Button>
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
