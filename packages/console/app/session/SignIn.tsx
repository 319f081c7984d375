import { Notice } from "../components/Notice.tsx"
import { signInNotice } from "./session.ts"
import { TokenForm } from "./TokenForm.tsx"

export const SignIn = () => (
  <main class="sign-in">
    <h1>Tollgate console</h1>
    {signInNotice.value !== undefined && <Notice kind="warning">{signInNotice.value}</Notice>}
    <TokenForm submitLabel="Sign in" />
    <p class="hint">
      The token is one of those that your server is configured with. It stays in this tab and is sent to your server
      only.
    </p>
  </main>
)
