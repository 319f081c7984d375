import { readSettings } from "@tollgate/ui/session/readSettings.ts"

/** What the host says about its console, from the page. */
interface Settings {
  readonly brand?: { readonly name?: string; readonly logo?: string; readonly accent?: string }
  /** The path that fills an account with examples, if the host offers that. */
  readonly demoPath?: string
  /** What one needs to open the page of a customer, if the server has such pages. */
  readonly portalPermission?: string
}

export const settings = readSettings<Settings>()

/** The name of the product that the console is a part of. */
export const productName = settings.brand?.name ?? "Tollgate"
