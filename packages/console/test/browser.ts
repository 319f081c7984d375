/** The console opened in Chromium. */
import type { Browser } from "playwright-core"
import { type OpenPage, type OpenPageOptions, openPage } from "../../ui/test/browser.ts"
import { writeToken } from "./consoleServer.ts"

export { closePages, expectAccessible, insecureHost, launchBrowser, passTimeUntil } from "../../ui/test/browser.ts"

export type OpenConsole = OpenPage

export interface OpenOptions extends Omit<OpenPageOptions, "initScript"> {
  /** The token of the session; the console signs in with it without typing. */
  readonly token?: string
  /** The address inside the console, such as `/accounts/acme`. */
  readonly path?: string
  /** The path that Tollgate is mounted at. */
  readonly prefix?: string
}

/** Opens the console signed in, at an address of it. */
export const openConsole = (
  browser: Browser,
  origin: string,
  { token = writeToken, path = "/", prefix = "", ...options }: OpenOptions = {}
): Promise<OpenConsole> =>
  openPage(browser, `${origin}${prefix}/console/#${path}`, {
    ...options,
    initScript: `
      const token = ${JSON.stringify(token)}
      if (token !== "" && location.protocol === "http:") sessionStorage.setItem("tollgate-management-token", token)
    `
  })
