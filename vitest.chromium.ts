import { ensureChromium } from "./packages/testing/src/chromiumBinary.ts"

/** Before the tests that use a browser: there is a real Chromium, or one line says how to get it. */
export default function setup(): void {
  ensureChromium()
}
