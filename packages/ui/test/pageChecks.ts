/** Checks and reads what pages show. */
import type { Page } from "playwright-core"
import { expect } from "vitest"

/** A text that would run code if a page took it for HTML. */
export const hostileText = `<img src=x onerror="console.error('run')"> "&'`

/** Checks that hostile texts were shown as text: no element was made of them. */
export const expectNoMarkup = async (page: Page): Promise<void> => {
  expect(await page.locator("img, script:not([src])").count()).toBe(0)
}

/** Checks that the page itself cannot be scrolled sideways. */
export const expectNoSideScroll = async (page: Page): Promise<void> => {
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
}

/** The texts of a table's cells, without the header. */
export const readRows = async (page: Page, caption: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const rows = page.getByRole("table", { name: caption }).locator("tbody tr")
  await rows.first().waitFor()
  return Promise.all((await rows.all()).map((row) => row.locator("td").allTextContents()))
}

/** The errors of the browser, without those of responses with this status, which a flow expects. */
export const withoutStatus = (errors: ReadonlyArray<string>, status: number): ReadonlyArray<string> =>
  errors.filter((error) => !error.includes(`the server responded with a status of ${status} `))
