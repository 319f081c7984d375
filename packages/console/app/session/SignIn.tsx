import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { signInNotice } from "./session.ts"
import { productName } from "./settings.ts"
import { TokenForm } from "./TokenForm.tsx"

export const SignIn = () => (
  <main class="sign-in">
    <h1>{productName} console</h1>
    {signInNotice.value !== undefined && <Notice kind="warning">{signInNotice.value}</Notice>}
    <TokenForm submitLabel="Sign in" />
    <p class="hint">
      The token is one of those that your server is configured with. It stays in this tab and is sent to your server
      only.
    </p>
  </main>
)
