import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { isTokenNeeded, signOut } from "./session.ts"
import { TokenForm } from "./TokenForm.tsx"

/** Asks for another token when the current one has expired, above the page, which keeps what was entered. */
export const SessionDialog = () =>
  isTokenNeeded.value ? (
    <Dialog title="Your token is no longer accepted" onClose={signOut}>
      <p>It has expired or was removed. Sign in again, and the console goes on where it stopped.</p>
      <TokenForm submitLabel="Go on" onCancel={signOut} />
    </Dialog>
  ) : null
