import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hostileText } from "../../ui/test/pageChecks.ts"
import type { ConsoleOptions } from "../src/ConsoleSettings.ts"
import { adminConsole } from "../src/index.ts"
import { closePages, expectAccessible, launchBrowser, openConsole } from "./browser.ts"
import { type ConsoleServer, startConsoleServer } from "./consoleServer.ts"

let browser: Browser
let server: ConsoleServer | undefined

const logo = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>')}`

/** Serves the console with the settings of a host. */
const openWith = async (settings: ConsoleOptions, token?: string) => {
  server = await startConsoleServer({ settings })
  await server.gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
  return openConsole(browser, server.origin, { path: "/accounts/acme", ...(token === undefined ? {} : { token }) })
}

beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
})

describe("the brand of the host", () => {
  it("is its name, its logo and its accent colour, in both themes", async () => {
    const { page, errors, close } = await openWith({ brand: { name: "Acme & Sons", logo, accent: "#7a1fa2" } })
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
    expect(await page.title()).toBe("Overview · Acme & Sons console")
    expect((await page.locator(".brand").textContent())?.trim()).toBe("Acme & Sons")
    expect(await page.evaluate('document.querySelector(".brand img").naturalWidth > 0')).toBe(true)
    const readColour = (theme: string) =>
      page.evaluate(
        `document.documentElement.dataset.theme = "${theme}", getComputedStyle(document.querySelector(".section a")).color`
      )
    expect(await readColour("light")).toBe("rgb(122, 31, 162)")
    expect(await readColour("dark")).not.toBe("rgb(122, 31, 162)")
    await expectAccessible(page)
    expect(errors).toEqual([])
    await close()
    await server?.close()
  })

  it("cannot become markup", async () => {
    const { page, errors, close } = await openWith({ brand: { name: hostileText.slice(0, 40) } }, "")
    await page.getByRole("heading", { name: `${hostileText.slice(0, 40)} console`, level: 1 }).waitFor()
    expect(await page.locator("img").count()).toBe(0)
    expect(errors).toEqual([])
    await close()
  })

  it.each([
    [{ brand: { name: "" } }, "brand.name: must have 1 to 40 characters"],
    [{ brand: { logo: "https://cdn.example.com/logo.svg" } }, "brand.logo: must be a path of your server"],
    [{ brand: { logo: "//cdn.example.com/logo.svg" } }, "brand.logo: must be a path of your server"],
    [{ brand: { logo: "data:text/html,<script>" } }, "brand.logo: must be a path of your server"],
    [{ brand: { accent: "red" } }, "brand.accent: must be a colour as #rrggbb"],
    [{ brand: { accent: "#ffcc00" } }, "take a darker one"],
    [{ brand: { colour: "#1f5fbf" } }, "colour"],
    [{ demoPath: "https://example.com" }, "demoPath: must be a path"],
    [{ demoPath: "../v1/accounts" }, "demoPath: must be a path"]
  ] as ReadonlyArray<readonly [ConsoleOptions, string]>)("refuses %j", (options, message) => {
    expect(() => adminConsole(options)).toThrow(message)
  })

  it("is in the page of the package, which says nothing without it", async () => {
    const read = async (options?: ConsoleOptions) => {
      const gate = await createTollgate({
        store: MemoryStore.open(),
        secret: "test-secret-with-at-least-32-characters",
        modules: [adminConsole(options)]
      })
      const page = await (await gate.handler(new Request("http://localhost/console/"))).text()
      await gate.close()
      return page
    }
    expect(await read()).toContain('content="{}"')
    expect(await read({ brand: { name: '"$&<' } })).toContain(
      'content="{&#34;brand&#34;:{&#34;name&#34;:&#34;\\&#34;$&#38;&#60;&#34;}}"'
    )
  })
})
