import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Toasts } from "@tollgate/ui/components/toasts.tsx"
import { connection } from "@tollgate/ui/session/connection.ts"
import { useEffect, useState } from "preact/hooks"
import { CurrentPage } from "../routing/CurrentPage.tsx"
import { address } from "../routing/router.ts"
import { canWrite } from "../session/session.ts"
import { HelpDialog } from "./HelpDialog.tsx"
import { Navigation } from "./Navigation.tsx"
import { SearchDialog } from "./SearchDialog.tsx"
import { listenToShortcuts } from "./shortcuts.ts"

/** The frame of every page: navigation, what concerns all pages, and the dialogs that any page can open. */
export const Layout = () => {
  const [dialog, setDialog] = useState<"search" | "help">()
  useEffect(() => listenToShortcuts({ onSearch: () => setDialog("search"), onHelp: () => setDialog("help") }), [])
  const account = address.value.segments[0] === "accounts" ? address.value.segments[1] : undefined
  const close = () => setDialog(undefined)
  return (
    <div class="layout">
      <button type="button" class="skip-link" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Navigation account={account} onSearch={() => setDialog("search")} onHelp={() => setDialog("help")} />
      <main id="main" tabIndex={-1}>
        {connection.isLost.value && (
          <Notice kind="warning">
            The server cannot be reached. The console tries again every few seconds; nothing that you entered is lost.
          </Notice>
        )}
        {!canWrite.value && <Notice>Your token is read-only: you can look at everything and change nothing.</Notice>}
        <CurrentPage />
      </main>
      {dialog === "search" && <SearchDialog account={account} onClose={close} />}
      {dialog === "help" && <HelpDialog onClose={close} />}
      <Toasts />
    </div>
  )
}
