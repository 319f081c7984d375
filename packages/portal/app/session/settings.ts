/** What the host says about its page. */
import { readSettings } from "@tollgate/ui/session/readSettings.ts"
import type { PortalTexts } from "../../src/texts.ts"

interface Settings {
  readonly name: string
  readonly logo: string
  readonly color: string
  readonly texts: Partial<PortalTexts>
  readonly returnUrl: string
}

export const settings = readSettings<Settings>()
