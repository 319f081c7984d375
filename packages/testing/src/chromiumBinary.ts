/**
 * Where Chromium is: on the PATH, or installed now where that can be done, or clearly asked for.
 */
import { findOnPath, installPackage } from "./programs.ts"

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]

/** The path of Chromium or Chrome, if there is one. */
export const chromiumBinary = (): string | undefined =>
  process.env["CHROME_PATH"] || names.map(findOnPath).find((path) => path !== undefined)

/** The path of Chromium, which is installed where it can be; otherwise fails with one line that says what to do. */
export const ensureChromium = (): string => {
  if (chromiumBinary() === undefined) installPackage("chromium")
  const path = chromiumBinary()
  if (path === undefined) {
    throw new Error(
      "The tests need a real Chromium: install it (Debian: sudo apt-get install chromium; macOS: brew install --cask chromium), or set CHROME_PATH"
    )
  }
  return path
}
