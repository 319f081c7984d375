/**
 * Chromium, and pages opened in it. Every page records what must never happen: errors in the browser's console, uncaught
 * exceptions, violations of the Content-Security-Policy, and requests to other hosts.
 */

import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { ensureChromium } from "@tollgate/testing"
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core"
import { expect } from "vitest"

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

let launched: Promise<Browser> | undefined

/** Launches Chromium once for all test files of a worker, which kills it at its end, and again after a crash. */
export const launchBrowser = async (): Promise<Browser> => {
  const browser = await launched?.catch(() => undefined)
  if (browser?.isConnected()) return browser
  launched = chromium.launch({ executablePath: ensureChromium(), args: options })
  return launched
}

/** Closes what the tests of a file have left open, for example after a failure. */
export const closePages = async (browser: Browser | undefined): Promise<void> => {
  for (const context of browser?.contexts() ?? []) await context.close()
}

export interface OpenPageOptions {
  readonly context?: BrowserContextOptions
  /** Replaces the timers of the page, so that `page.clock` can move its time forward. */
  readonly hasFakeTimers?: boolean
  /** A script that runs before those of the page. */
  readonly initScript?: string
}

export interface OpenPage {
  readonly page: Page
  /** Errors and warnings in the browser's console, exceptions, policy violations and requests to other hosts. */
  readonly errors: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** Opens a page. It may send requests to its own origin only. */
export const openPage = async (
  browser: Browser,
  url: string,
  { context: contextOptions = {}, hasFakeTimers = false, initScript = "" }: OpenPageOptions = {}
): Promise<OpenPage> => {
  const { origin } = new URL(url)
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...contextOptions })
  // Playwright gives up after 30 seconds, which a busy machine may need.
  context.setDefaultTimeout(100_000)
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
  if (hasFakeTimers) await page.clock.install()
  await page.addInitScript(`
    ${initScript}
    addEventListener("securitypolicyviolation", (event) =>
      console.error("Policy violation: " + event.violatedDirective + " " + event.blockedURI)
    )
  `)
  await page.goto(url)
  return { page, errors, close: () => context.close() }
}

/** Moves the time of a page with fake timers forward until the page shows something, so that it polls without a wait. */
export const passTimeUntil = (page: Page, shown: Locator, stepMs = 1_000): Promise<void> =>
  expect
    .poll(async () => {
      await page.clock.fastForward(stepMs)
      return shown.isVisible()
    })
    .toBe(true)

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** The minified file: a page evaluates it in half the time of `axe.source`. */
const axeSource = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")

/** What axe checks in each theme. Themes differ in their colours only, so the second needs only the rules about colours. */
const themeOptions = {
  light: { resultTypes: ["violations"] },
  dark: { resultTypes: ["violations"], runOnly: ["color-contrast", "link-in-text-block"] }
}

/** Checks the page with axe in both themes. */
export const expectAccessible = async (page: Page): Promise<void> => {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axeSource)
  for (const [theme, options] of Object.entries(themeOptions)) {
    await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`)
    const violations = (await page.evaluate(
      `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
    )) as ReadonlyArray<Violation>
    const found = violations.map(({ id, nodes }) => `${theme}: ${id}: ${nodes.map(({ html }) => html).join(" ")}`)
    expect(found).toEqual([])
  }
}
