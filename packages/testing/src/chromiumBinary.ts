/**
 * Finds Chromium on the PATH, or installs it if possible.
 */
import { findOnPath, installPackage } from "./programs.ts"

/** The headless shell is Chromium without a window: it opens a page in less than half the time. */
const headlessShell = "chromium-headless-shell"

const names = [headlessShell, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]

/** The path of Chromium or Chrome, if it is installed. */
const chromiumBinary = (): string | undefined =>
  process.env["CHROME_PATH"] || names.map(findOnPath).find((path) => path !== undefined)

/** Installs the headless shell if possible. Without it, an installed browser serves as well, only slower. */
const installBrowser = (): void => {
  try {
    installPackage(headlessShell)
  } catch (error) {
    if (chromiumBinary() === undefined) throw error
  }
}

/** Returns the path of Chromium and installs it if necessary, or throws with instructions. */
export const ensureChromium = (): string => {
  if (process.env["CHROME_PATH"] === undefined && findOnPath(headlessShell) === undefined) installBrowser()
  const path = chromiumBinary()
  if (path === undefined) {
    throw new Error(
      "The tests need Chromium: install it (Debian: sudo apt-get install chromium-headless-shell; macOS: brew install --cask chromium), or set CHROME_PATH"
    )
  }
  return path
}
