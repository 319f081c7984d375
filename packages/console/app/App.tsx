import { Layout } from "./layout/Layout.tsx"
import { LinkDialog } from "./session/LinkDialog.tsx"
import { SessionDialog } from "./session/SessionDialog.tsx"
import { SignIn } from "./session/SignIn.tsx"
import { caller, isStarting } from "./session/session.ts"

export const App = () => {
  if (isStarting.value) return <p class="starting">Opening the console…</p>
  if (caller.value === undefined) return <SignIn />
  return (
    <>
      <Layout />
      <SessionDialog />
      <LinkDialog />
    </>
  )
}
