import { ensureChromium } from "../src/chromiumBinary.ts"

/** Makes sure that Chromium is installed, or fails with the command that installs it. */
export default function setup(): void {
  ensureChromium()
}
