import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import type { Action } from "@tollgate/ui/data/useAction.ts"
import { caller, may } from "../../session/session.ts"
import { settings } from "../../session/settings.ts"

/** Opens the page that the consumer itself sees. Its events name the person who is signed in here. */
export const openPortal = async (consumerPath: string): Promise<void> => {
  // Before the request: later, browsers would block it as a popup.
  const tab = open("about:blank")
  try {
    const name = caller.value?.name
    const body = name === undefined ? {} : { name }
    const { value } = await request<{ readonly url: string }>("POST", `${consumerPath}/portal-sessions`, { body })
    const url = new URL(`../portal/${new URL(value.url, location.href).hash}`, location.href)
    ;(tab ?? window).location.href = url.href
  } catch (error) {
    tab?.close()
    throw error
  }
}

/** Nothing if the server has no such pages, or the person may not open them. */
export const OpenPortalButton = ({ action }: { readonly action: Action<[]> }) =>
  settings.portalPermission !== undefined && may(settings.portalPermission) ? (
    <Button onClick={() => void action.run()} isBusy={action.isRunning}>
      Open the customer’s page
    </Button>
  ) : null
