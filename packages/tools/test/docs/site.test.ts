/**
 * Builds the documentation into a site as `npm run docs` does, follows all its links, and searches it in a browser.
 */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import type { Server } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { ensureChromium } from "@tollgate/testing"
import express from "express"
import { chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { llmsFiles } from "../../../../docs/.vitepress/llmsFiles.ts"
import { pages } from "../../../../docs/.vitepress/pages.ts"

const root = join(import.meta.dirname, "../../../..")
const outDir = mkdtempSync(join(tmpdir(), "tollgate-site-"))
let server: Server
let origin: string

beforeAll(async () => {
  // VitePress deletes its output folder, and takes it relative to docs/ unless it is absolute.
  await promisify(execFile)(join(root, "node_modules/.bin/vitepress"), ["build", "docs", "--outDir", outDir], {
    cwd: root
  })
  const app = express()
  app.use(express.static(outDir, { extensions: ["html"] }))
  server = app.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}, 900_000)

afterAll(() => {
  server?.closeAllConnections()
  server?.close()
  rmSync(outDir, { recursive: true, force: true })
})

const listHtml = (): ReadonlyArray<string> =>
  readdirSync(outDir, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".html") && path !== "404.html"
  )

/** The file that a path of the site shows, if there is one. */
const findFile = (path: string): string | undefined =>
  [path, `${path}.html`, join(path, "index.html")].find(
    (candidate) => existsSync(join(outDir, candidate)) && statSync(join(outDir, candidate)).isFile()
  )

describe("the site of the documentation", () => {
  it("has every page", () => {
    expect(listHtml()).toHaveLength(pages.length + 1)
  })

  it("has no broken link or anchor", () => {
    const read = (path: string): string => readFileSync(join(outDir, path), "utf8")
    const broken = listHtml().flatMap((page) =>
      [...read(page).matchAll(/<a\b[^>]*?\bhref="(?!https?:|mailto:)([^"#]*)(?:#([^"]*))?"/g)].flatMap(
        ([, href = "", anchor]) => {
          const path = decodeURIComponent(href)
          const target = href === "" ? page : findFile(path.startsWith("/") ? path : join(dirname(page), path))
          const isBroken =
            target === undefined ||
            (anchor !== undefined && anchor !== "" && !read(target).includes(`id="${decodeURIComponent(anchor)}"`))
          return isBroken ? [`${page}: ${href}${anchor === undefined ? "" : `#${anchor}`}`] : []
        }
      )
    )
    expect(broken).toEqual([])
  })

  it("finds pages with the search, without an error and without a request to another host", async () => {
    const browser = await chromium.launch({ executablePath: ensureChromium(), args: ["--no-sandbox", "--disable-gpu"] })
    try {
      const page = await browser.newPage()
      const errors: Array<string> = []
      page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())))
      page.on("pageerror", (error) => void errors.push(String(error)))
      page.on("request", (request) => void (request.url().startsWith(origin) || errors.push(request.url())))
      await page.goto(origin)
      await page.getByRole("button", { name: "Search" }).first().click()
      await page.getByRole("searchbox").fill("reservation expired")
      await page.getByRole("option").first().waitFor()
      await page.getByRole("option").first().click()
      await page.waitForURL((url) => url.pathname !== "/")
      await page.getByRole("heading", { level: 1 }).waitFor()
      expect(errors).toEqual([])
    } finally {
      await browser.close()
    }
  })

  it("shows frameworks, and curl beside TypeScript, as tabs, and folds what examples begin with", () => {
    const read = (path: string): string => readFileSync(join(outDir, path), "utf8")
    const listTabs = (path: string): ReadonlyArray<string> =>
      [...read(path).matchAll(/<div class="tabs">(.*?)<\/div>/gs)].map(([, tabs = ""]) =>
        [...tabs.matchAll(/data-title="(.*?)"/g)].map(([, title]) => title).join(" ")
      )
    const frameworks = "Express Koa Fastify Hono node:http"
    expect(listTabs("guides/frameworks.html")).toEqual([frameworks, frameworks])
    const operations = listTabs("reference/http-operations.html")
    expect(operations.length).toBeGreaterThan(100)
    expect([...new Set(operations)]).toEqual(["curl TypeScript"])

    const folded = (path: string): number => read(path).split("<summary>Set-up</summary>").length - 1
    expect(folded("guides/plans-and-quotas.html")).toBeGreaterThan(1)
    expect(folded("guides/searching.html")).toBe(0)
  })

  it("puts the page that answers first, guides before reference", async () => {
    const expected = {
      docker: "/operations/docker.html",
      python: "/guides/authorize-over-http.html#python",
      rollback: "/guides/rollback.html",
      "leaked key": "/recipes/leaked-key.html",
      "free tier": "/recipes/free-tier.html",
      "rate limit per plan": "/guides/rate-limits.html",
      "revoke key": "/guides/key-lifecycle.html#suspend-a-key",
      "customer portal": "/guides/portal.html",
      stripe: "/recipes/billing-webhooks.html",
      "migrate from unkey": "/recipes/from-unkey.html"
    }
    const browser = await chromium.launch({ executablePath: ensureChromium(), args: ["--no-sandbox", "--disable-gpu"] })
    try {
      const page = await browser.newPage()
      await page.goto(origin)
      await page.getByRole("button", { name: "Search" }).first().click()
      const box = page.getByRole("searchbox")
      for (const [text, path] of Object.entries(expected)) {
        await box.fill(text)
        const first = page.getByRole("option").first().getByRole("link")
        await expect.poll(() => first.getAttribute("href"), { message: text }).toMatch(new RegExp(`^${path}(?:#|$)`))
      }
    } finally {
      await browser.close()
    }
  })

  it.each(Object.keys(llmsFiles))(
    "has %s, which matches the pages; if it does not, run `npm run build:docs`",
    (name) => {
      expect(readFileSync(join(root, "docs", name), "utf8") === llmsFiles[name]).toBe(true)
      expect(readFileSync(join(outDir, name), "utf8") === llmsFiles[name]).toBe(true)
    }
  )

  it("has the source of each page that llms.txt names", () => {
    const paths = [...(llmsFiles["llms.txt"] ?? "").matchAll(/^- \[.*?\]\((.*?)\): \S/gm)].map(([, path = ""]) => path)
    expect(paths.filter((path) => !existsSync(join(outDir, path)))).toEqual([])
    expect(paths).toHaveLength(pages.length)
  })
})
