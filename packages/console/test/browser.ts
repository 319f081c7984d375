/**
 * Chromium, and the console opened in it. Every page records what must never happen: errors in the browser's console,
 * uncaught exceptions, violations of the Content-Security-Policy, and requests to other hosts.
 */

import { ensureChromium } from "@tollgate/testing"
import axe from "axe-core"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { expect } from "vitest"
import { writeToken } from "./consoleServer.ts"

/** A host that is not localhost: over http, browsers withhold from it what needs a secure context. */
export const insecureHost = "console.test"

const options = [
  `--host-resolver-rules=MAP ${insecureHost} 127.0.0.1`,
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: ensureChromium(), args: options })

export interface OpenOptions {
  /** The token of the session; the console signs in with it without typing. */
  readonly token?: string
  /** The address inside the console, such as `/accounts/acme`. */
  readonly path?: string
  /** The path that Tollgate is mounted at. */
  readonly prefix?: string
  readonly context?: BrowserContextOptions
}

export interface OpenConsole {
  readonly page: Page
  /** Errors and warnings in the browser's console, exceptions, policy violations and requests to other hosts. */
  readonly errors: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** Opens the console signed in, at an address of it. */
export const openConsole = async (
  browser: Browser,
  origin: string,
  { token = writeToken, path = "/", prefix = "", context: contextOptions = {} }: OpenOptions = {}
): Promise<OpenConsole> => {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...contextOptions })
  const page = await context.newPage()
  const errors: Array<string> = []
  page.on("pageerror", (error) => errors.push(String(error)))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:") && !request.url().startsWith("blob:")) {
      errors.push(`Request to ${request.url()}`)
    }
  })
  await page.addInitScript(`
    const token = ${JSON.stringify(token)}
    if (token !== "" && location.protocol === "http:") sessionStorage.setItem("tollgate-management-token", token)
    addEventListener("securitypolicyviolation", (event) =>
      console.error("Policy violation: " + event.violatedDirective + " " + event.blockedURI)
    )
  `)
  await page.goto(`${origin}${prefix}/console/#${path}`)
  return { page, errors, close: () => context.close() }
}

interface AxeResult {
  readonly violations: ReadonlyArray<{ readonly id: string; readonly nodes: ReadonlyArray<{ readonly html: string }> }>
}

/** Checks the page with axe in both themes. */
export const expectAccessible = async (page: Page): Promise<void> => {
  await page.evaluate(axe.source)
  for (const theme of ["light", "dark"] as const) {
    await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`)
    const { violations } = (await page.evaluate("axe.run()")) as AxeResult
    const found = violations.map(({ id, nodes }) => `${theme}: ${id}: ${nodes.map(({ html }) => html).join(" ")}`)
    expect(found).toEqual([])
  }
}
