import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { acceptOfferedCode, caller, offeredCode } from "./session.ts"

/** Asks whether a link that was opened in this tab replaces the session. */
export const LinkDialog = () => {
  if (offeredCode.value === undefined) return null
  const { accountName = "*", access = "read" } = caller.value ?? {}
  return (
    <ConfirmDialog
      title="Sign in with this link instead?"
      confirmLabel="Sign in with the link"
      onConfirm={acceptOfferedCode}
      onClose={() => {
        offeredCode.value = undefined
      }}
    >
      <p>
        You are signed in for <strong>{accountName === "*" ? "all accounts" : `the account ${accountName}`}</strong>
        {access === "read" && ", read-only"}. A link to the console was opened in this tab, perhaps for another account.
        Go on only if you have opened it yourself.
      </p>
    </ConfirmDialog>
  )
}
