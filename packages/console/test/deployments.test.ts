/**
 * Deployments in the console: real uploads of folders and archives to a server that serves the sites.
 */

import { execFileSync } from "node:child_process"
import { mkdir, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import type { Browser, Locator, Page } from "playwright-core"
import { create } from "tar"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  closePages,
  expectAccessible,
  launchBrowser,
  type OpenConsole,
  type OpenOptions,
  openConsole,
  passTimeUntil
} from "./browser.ts"
import { type ConsoleServer, readToken, startConsoleServer } from "./consoleServer.ts"

const scope = Scope.makeUnsafe()
let browser: Browser
let server: ConsoleServer
let folder: string

beforeAll(async () => {
  browser = await launchBrowser()
  server = await startConsoleServer()
  folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
})
afterAll(async () => {
  await closePages(browser)
  await server?.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

/** A folder with a page, something below it, and what must not be uploaded. */
const writeSite = async (name: string, html: string): Promise<string> => {
  const site = join(folder, name)
  await mkdir(join(site, "assets/deep"), { recursive: true })
  await mkdir(join(site, "node_modules/left-out"), { recursive: true })
  await writeFile(join(site, "index.html"), html)
  await writeFile(join(site, "assets/deep/style.css"), "h1 { color: green }")
  await writeFile(join(site, ".DS_Store"), "junk")
  await writeFile(join(site, "node_modules/left-out/index.js"), "junk")
  return site
}

const writeArchive = async (name: string, html: string): Promise<string> => {
  const site = await writeSite(name, html)
  const file = join(folder, `${name}.tar.gz`)
  await create({ gzip: true, file, cwd: site }, ["index.html"])
  return file
}

/** A file of this size that needs no room on the disk. */
const writeEmpty = async (file: string, bytes: number): Promise<void> => {
  await writeFile(file, "")
  await truncate(file, bytes)
}

const choose = async (page: Page, button: "Choose a folder" | "Choose an archive", path: string): Promise<void> => {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: button }).click()
  ])
  await chooser.setFiles(path)
}

/** Drops files and folders of the disk, as a person drags them from a file manager. */
const dropFiles = async (page: Page, target: Locator, files: ReadonlyArray<string>): Promise<void> => {
  await target.scrollIntoViewIfNeeded()
  const box = await target.boundingBox()
  const [x, y] = [(box?.x ?? 0) + 20, (box?.y ?? 0) + 20]
  const session = await page.context().newCDPSession(page)
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", {
      type,
      x,
      y,
      data: { items: [], files: [...files], dragOperationsMask: 1 }
    })
  }
}

const step = (page: Page, name: string, status: string): Locator =>
  page
    .getByRole("list", { name: "Steps" })
    .getByRole("listitem")
    .filter({ hasText: `${name}${status}` })

/** Opens the console with fake timers: it asks for the steps of a run every few seconds. */
const open = (from: ConsoleServer, options: OpenOptions): Promise<OpenConsole> =>
  openConsole(browser, from.origin, { hasFakeTimers: true, ...options })

const waitForPublish = (page: Page): Promise<void> => passTimeUntil(page, step(page, "publish", "done"))

const listBranches = async (account: string, project: string): Promise<ReadonlyArray<string>> =>
  (await server.gate.account(account).project(project).deployments.list()).data.map(({ branchName }) => branchName)

/** Uploads an archive in process and waits until it has been deployed. */
const deployInProcess = async (account: string, project: string, branchName: string, html: string) => {
  const { deployments } = server.gate.account(account).project(project)
  const archive = await writeArchive(`${account}-${project}-${branchName.replace(/\W/g, "_")}`, html)
  const { uploadUrl } = await deployments.createSource({ branchName })
  const { id } = await deployments.upload(uploadUrl, execFileSync("cat", [archive]))
  await expect.poll(async () => (await deployments.status(id)).status).toBe("SUCCESS")
  const deployment = (await deployments.list()).data.find((other) => other.branchName === branchName)
  return { name: deployment?.name ?? "", url: deployment?.url ?? "" }
}

const expectNoHorizontalScroll = async (page: Page): Promise<void> =>
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true)

describe("deployments in the console", () => {
  it("creates a project from a folder, and links to the site", async () => {
    const site = await writeSite("first", "<h1>First site</h1>")
    const { page, errors, close } = await open(server, { path: "/accounts/acme/deployments" })
    await page.getByText("There is no project yet").waitFor()
    await expectAccessible(page)
    await choose(page, "Choose a folder", site)
    await page.getByText("Name the project first").waitFor()
    await page.getByLabel("Name of the project").fill("web")
    await choose(page, "Choose a folder", site)
    await waitForPublish(page)
    await page.getByText("first: 2 files. Skipped:").waitFor()
    expect(await page.getByText("Skipped:").textContent()).toMatch(/node_modules/)
    expect(await page.getByText("Skipped:").textContent()).toMatch(/\.DS_Store/)
    const link = page.getByRole("link", { name: /\/sites\// })
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer")
    const url = (await link.getAttribute("href")) ?? ""
    expect(await (await fetch(url)).text()).toBe("<h1>First site</h1>")
    expect(await (await fetch(`${url}assets/deep/style.css`)).text()).toBe("h1 { color: green }")
    expect((await fetch(`${url}node_modules/left-out/index.js`)).status).toBe(404)
    await expectAccessible(page)
    await page.getByRole("link", { name: "Open the project web" }).click()
    await page.getByRole("heading", { name: "Project web" }).waitFor()
    await page.goBack()
    await page.getByRole("table").getByRole("link", { name: "web", exact: true }).waitFor()
    expect(await listBranches("acme", "web")).toEqual(["main"])
    expect(errors).toEqual([])
    await close()
  })

  it("takes a dropped folder, with its empty folders, and a dropped archive", async () => {
    const site = await writeSite("dropped", "<h1>Dropped</h1>")
    await mkdir(join(site, "empty"))
    for (let index = 0; index < 250; index++) await writeFile(join(site, `assets/${index}.txt`), `file ${index}`)
    const archive = await writeArchive("dropped-archive", "<h1>Dropped archive</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/drops/deployments/web"
    })
    await page.getByText("This project has no deployment").waitFor()
    const zone = page.getByText("Drop a folder or a .tar.gz archive here")
    // A drop beside the zone does nothing: the browser would leave the console to show the file.
    await page.evaluate("addEventListener('drop', (event) => { window.isDropIgnored = event.defaultPrevented })")
    await dropFiles(page, page.getByRole("heading", { name: "Project web" }), [archive])
    expect(await page.evaluate("window.isDropIgnored")).toBe(true)
    await dropFiles(page, zone, [site])
    await waitForPublish(page)
    // 250 files are more than one batch of a folder's entries.
    await page.getByText("dropped: 253 files").waitFor()
    const url =
      (await page
        .getByRole("link", { name: /\/sites\// })
        .first()
        .getAttribute("href")) ?? ""
    expect(await (await fetch(`${url}assets/249.txt`)).text()).toBe("file 249")
    await page.getByLabel("Branch").fill("next")
    await dropFiles(page, zone, [archive])
    await page.getByText("dropped-archive.tar.gz", { exact: true }).waitFor()
    await page.getByRole("table").getByRole("link", { name: "next", exact: true }).waitFor()
    await expect.poll(() => listBranches("drops", "web")).toEqual(["main", "next"])
    expect(errors).toEqual([])
    await close()
  })

  it("deploys archives to two branches, lists both, and shows what is served", async () => {
    const main = await writeArchive("branch-main", "<h1>Main</h1>")
    const feature = await writeArchive("branch-feature", "<h1>Feature</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/branches/deployments/web"
    })
    await choose(page, "Choose an archive", main)
    await waitForPublish(page)
    const table = page.getByRole("table")
    await table.getByRole("row", { name: /^main/ }).getByText("Served: version of").waitFor()
    const hostile = "<img src=x onerror=alert(1)>/feature"
    await page.getByLabel("Branch").fill(hostile)
    await choose(page, "Choose an archive", feature)
    const row = table.getByRole("row").filter({ hasText: hostile })
    await passTimeUntil(page, row.getByText("Last run: deployed"))
    expect(await page.locator("img").count()).toBe(0)
    const url = (await row.getByRole("link", { name: /\/sites\// }).getAttribute("href")) ?? ""
    expect(await (await fetch(url)).text()).toBe("<h1>Feature</h1>")
    await expectAccessible(page)
    await row.getByRole("link", { name: hostile }).click()
    await page.getByRole("heading", { name: `Branch ${hostile}` }).waitFor()
    expect(await page.locator("img").count()).toBe(0)
    await page.goBack()
    await page.getByRole("heading", { name: "Project web" }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("rolls back to an earlier version, and promotes the one that waits", async () => {
    const { name, url } = await deployInProcess("back", "web", "main", "<h1>One</h1>")
    await deployInProcess("back", "web", "main", "<h1>Two</h1>")
    const readSite = async () => (await fetch(url)).text()
    const { page, errors, close } = await open(server, { path: `/accounts/back/deployments/web/${name}` })
    const rows = page.getByRole("table", { name: "Versions of this deployment" }).getByRole("row")
    await rows.filter({ hasText: "served" }).waitFor()
    expect(await page.getByRole("button", { name: "Promote" }).count()).toBe(0)
    await rows.last().getByRole("button", { name: "Roll back" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("wait until you promote one").waitFor()
    await expectAccessible(page)
    await dialog.getByRole("button", { name: "Roll back" }).click()
    await page.getByText("The deployment was rolled back").waitFor()
    await rows.last().getByText("served").waitFor()
    await page.getByText("This deployment is pinned").waitFor()
    expect(await readSite()).toBe("<h1>One</h1>")

    await deployInProcess("back", "web", "main", "<h1>Three</h1>")
    expect(await readSite()).toBe("<h1>One</h1>")
    await page.reload()
    await step(page, "publish", "skipped").getByText("waits for promote").waitFor()
    const link = rows.nth(1).getByRole("link", { name: "Open" })
    expect(await (await fetch((await link.getAttribute("href")) ?? "")).text()).toBe("<h1>Three</h1>")
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer")
    await expectAccessible(page)
    await rows.nth(1).getByRole("button", { name: "Promote" }).click()
    await dialog.getByRole("button", { name: "Promote" }).click()
    await page.getByText("The version was promoted").waitFor()
    await step(page, "publish", "done").waitFor()
    await page.getByText("This deployment is pinned").waitFor({ state: "detached" })
    expect(await readSite()).toBe("<h1>Three</h1>")
    await page.setViewportSize({ width: 375, height: 800 })
    await expectNoHorizontalScroll(page)
    expect(errors).toEqual([])
    await close()
  })

  it("shows which step a broken archive fails at, and why", async () => {
    const broken = join(folder, "broken.tar.gz")
    await writeFile(broken, "this is no archive")
    const { page, errors, close } = await open(server, {
      path: "/accounts/broken/deployments/web"
    })
    await choose(page, "Choose an archive", broken)
    await passTimeUntil(page, step(page, "unpack", "failed"))
    await step(page, "unpack", "failed").getByText("The source is not a gzip archive, or is damaged").waitFor()
    await page.getByRole("status").getByText("The deployment failed: ").waitFor({ state: "attached" })
    await page.getByRole("table").getByText("Last run: failed").waitFor()
    await page.getByText("No version is served").waitFor()
    expect((await server.gate.account("broken").project("web").deployments.list()).data[0]?.state).toBe("ERRORED")
    await expectAccessible(page)
    // Another kind of archive is refused before anything is sent.
    const zip = join(folder, "site.zip")
    await writeFile(zip, "PK")
    await choose(page, "Choose an archive", zip)
    await page.getByText("The server unpacks .tar.gz archives only").waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it("shows progress, and stops when it is cancelled", async () => {
    const large = join(folder, "large.tar.gz")
    await writeEmpty(large, 30_000_000)
    const { page, errors, close } = await open(server, {
      path: "/accounts/cancelled/deployments/web"
    })
    await page.getByText("This project has no deployment").waitFor()
    const network = await page.context().newCDPSession(page)
    await network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 500_000
    })
    await choose(page, "Choose an archive", large)
    await page.getByText(/Uploading: [\d.]+ \wB of 30\.0 MB \([1-9]\d?%\)/).waitFor()
    await expectAccessible(page)
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    await page.getByText("Uploading").waitFor({ state: "detached" })
    expect(await page.getByRole("button", { name: "Choose an archive" }).isEnabled()).toBe(true)
    await choose(page, "Choose an archive", large)
    await page.getByText(/Uploading: .+ \([1-9]\d?%\)/).waitFor()
    await page.getByRole("link", { name: "Deployments" }).first().click()
    await page.getByText("The upload was cancelled, because you left its page.").waitFor()
    expect(await listBranches("cancelled", "web")).toEqual([])
    expect(errors.filter((error) => !error.includes("ERR_ABORTED"))).toEqual([])
    await close()
  })

  it("asks before it uploads what is probably too large", async () => {
    const huge = join(folder, "huge.tar.gz")
    await writeEmpty(huge, 101 * 1024 * 1024)
    const { page, errors, close } = await open(server, {
      path: "/accounts/huge/deployments/web"
    })
    const before = server.responses.length
    await choose(page, "Choose an archive", huge)
    await page.getByText("servers accept 100 MiB unless they are configured otherwise").waitFor()
    await expectAccessible(page)
    expect(server.responses.slice(before).some((line) => line.includes("/deployments/sources"))).toBe(false)
    await page.getByRole("button", { name: "Upload it anyway" }).click()
    // The server closes the connection early, so that the browser may see its 413 or a broken connection.
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor()
    expect(await listBranches("huge", "web")).toEqual([])
    expect(errors.filter((error) => !/413|Failed to load resource/.test(error))).toEqual([])
    await close()
  })

  it("keeps what was chosen when the upload fails, and tries again", async () => {
    const archive = await writeArchive("again", "<h1>Again</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/again/deployments/web"
    })
    await page.getByLabel("Branch").fill("release/1")
    await page.route("**/v1/uploads/**", (route) => route.abort(), { times: 1 })
    await choose(page, "Choose an archive", archive)
    await page.getByRole("alert").getByText("The server cannot be reached", { exact: true }).waitFor()
    expect(await page.getByLabel("Branch").inputValue()).toBe("release/1")
    await page.getByRole("button", { name: "Try again" }).click()
    await waitForPublish(page)
    expect(await listBranches("again", "web")).toEqual(["release/1"])
    expect(errors.filter((error) => !error.includes("ERR_FAILED"))).toEqual([])
    await close()
  })

  it("tries again with the branch that is entered by then", async () => {
    const archive = await writeArchive("other", "<h1>Other</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/other/deployments/web"
    })
    await page.getByLabel("Branch").fill("x".repeat(256))
    await choose(page, "Choose an archive", archive)
    await page.locator(".field-error").getByText("1 to 255 characters").waitFor()
    await page.getByLabel("Branch").fill("preview")
    await page.getByRole("button", { name: "Try again" }).click()
    await waitForPublish(page)
    expect(await listBranches("other", "web")).toEqual(["preview"])
    expect(errors).toEqual([expect.stringContaining("400")])
    await close()
  })

  it("shows a wrong branch name at its field", async () => {
    const archive = await writeArchive("wrong", "<h1>Wrong</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/wrong/deployments/web"
    })
    await page.getByLabel("Branch").fill("x".repeat(256))
    await choose(page, "Choose an archive", archive)
    await page.locator(".field-error").getByText("1 to 255 characters").waitFor()
    expect(await page.getByLabel("Branch").inputValue()).toHaveLength(256)
    expect(errors).toEqual([expect.stringContaining("400")])
    await close()
  })

  it("follows the steps and the log of a build while it runs, as text", async () => {
    const signalFile = join(folder, "go-on")
    const command = `echo '<b onclick="alert(1)">first line</b>'; while [ ! -e '${signalFile}' ]; do sleep 0.05; done; echo second line`
    const building = await startConsoleServer({ buildCommand: command })
    try {
      const site = await writeSite("built", "<h1>Built</h1>")
      const { page, errors, close } = await open(building, {
        path: "/accounts/acme/deployments/web"
      })
      const positions: Array<string | undefined> = []
      page.on("request", (request) => {
        if (request.url().endsWith("/log")) positions.push(request.headers()["last-event-id"])
      })
      await choose(page, "Choose a folder", site)
      await step(page, "build", "running").waitFor()
      await page.getByText('<b onclick="alert(1)">first line</b>').waitFor()
      // The connection breaks off: what follows is read after the last line, and no line twice.
      await building.pause()
      await building.resume()
      await expect
        .poll(async () => {
          await page.clock.fastForward(1_000)
          return positions.length
        })
        .toBeGreaterThan(1)
      expect(await page.locator("b").count()).toBe(0)
      await page.getByRole("status").getByText("In progress: build.").waitFor({ state: "attached" })
      await expectAccessible(page)
      await writeFile(signalFile, "")
      await page.getByText("second line").waitFor()
      await waitForPublish(page)
      expect((await page.getByRole("region", { name: "Log" }).textContent())?.split("first line")).toHaveLength(2)
      expect(positions[0]).toBeUndefined()
      expect(Number(positions.at(-1))).toBeGreaterThan(0)
      await page.getByRole("status").getByText("Deployed.").waitFor({ state: "attached" })
      // Nothing is asked for after the run has ended, except what the page refreshes at times.
      const polls = building.responses.filter((line) => line.includes("/deployment-status/")).length
      await page.getByRole("table").getByText("Last run: deployed").waitFor()
      await page.getByRole("link", { name: "main", exact: true }).click()
      await page.getByRole("heading", { name: "Latest run" }).waitFor()
      await page.getByText("second line").waitFor()
      expect(building.responses.filter((line) => line.includes("/deployment-status/")).length).toBeLessThanOrEqual(
        polls + 2
      )
      expect(errors.filter((error) => !/net::ERR_(?:INCOMPLETE|CONNECTION|EMPTY)/.test(error))).toEqual([])
      await close()
    } finally {
      await building.close()
    }
  })

  it("shows a deployment from its link, redeploys it and removes it with its name typed", async () => {
    const { name, url } = await deployInProcess("linked", "web", "main", "<h1>Linked</h1>")
    const { page, errors, close } = await open(server, {
      path: `/accounts/linked/deployments/web/${name}`
    })
    await page.getByRole("heading", { name: "Branch main" }).waitFor()
    await waitForPublish(page)
    const versions = page.getByRole("table", { name: "Versions of this deployment" })
    await versions.getByRole("row").filter({ hasText: "served" }).waitFor()
    await expectAccessible(page)
    const { deployments } = server.gate.account("linked").project("web")
    const before = await deployments.get(name)
    await page.getByRole("button", { name: "Redeploy" }).click()
    await page.getByText("Deploying the latest source").waitFor()
    await expect.poll(async () => (await deployments.get(name)).updatedOn).not.toBe(before.updatedOn)
    await expect.poll(async () => (await deployments.versions(name)).data[0]?.status).toBe("SUCCESS")
    await waitForPublish(page)
    expect(await (await fetch(url)).text()).toBe("<h1>Linked</h1>")
    await page.getByRole("button", { name: "Remove", exact: true }).click()
    const remove = page.getByRole("button", { name: "Remove deployment" })
    expect(await remove.isDisabled()).toBe(true)
    await expectAccessible(page)
    await page.getByLabel(`Type ${name} to confirm`).fill(name)
    await remove.click()
    await page.getByText("This project has no deployment").waitFor()
    expect(await listBranches("linked", "web")).toEqual([])
    expect((await fetch(url)).status).toBe(404)
    expect(errors).toEqual([])
    await close()
  })

  it("has no write buttons for a read-only token", async () => {
    const { name } = await deployInProcess("readable", "web", "main", "<h1>Readable</h1>")
    const { page, errors, close } = await open(server, {
      token: readToken,
      path: "/accounts/readable/deployments"
    })
    await page.getByRole("link", { name: "web", exact: true }).waitFor()
    expect(await page.getByRole("button", { name: "New project" }).count()).toBe(0)
    await page.getByRole("link", { name: "web", exact: true }).click()
    await page.getByRole("link", { name: "main", exact: true }).waitFor()
    expect(await page.getByRole("button", { name: "Choose a folder" }).count()).toBe(0)
    await page.getByRole("link", { name: "main", exact: true }).click()
    await page.getByText(name, { exact: true }).waitFor()
    for (const label of ["Redeploy", "Remove"]) {
      expect(await page.getByRole("button", { name: label }).count()).toBe(0)
    }
    expect(errors).toEqual([])
    await close()
  })

  it("says that a server has no deployments", async () => {
    const plain = await startConsoleServer({ hasModules: false })
    try {
      const { page, errors, close } = await open(plain, { path: "/accounts/acme/deployments" })
      await page.getByText("This server has no deployments").waitFor()
      expect(await page.getByRole("button", { name: "New project" }).count()).toBe(0)
      await expectAccessible(page)
      await page.evaluate("location.hash = '#/accounts/acme/deployments/web'")
      await page.getByRole("heading", { name: "Project web" }).waitFor()
      await page.getByText("This server has no deployments").waitFor()
      expect(errors.filter((error) => !error.includes("404"))).toEqual([])
      await close()
    } finally {
      await plain.close()
    }
  })

  it("uploads to its own origin, whatever the public URL is", async () => {
    const proxied = await startConsoleServer({ publicUrl: "https://api.example.com/gate" })
    try {
      const archive = await writeArchive("proxied", "<h1>Proxied</h1>")
      const { page, errors, close } = await open(proxied, {
        path: "/accounts/acme/deployments/web"
      })
      await choose(page, "Choose an archive", archive)
      await waitForPublish(page)
      expect(proxied.responses.some((line) => line.startsWith("200 PUT /v1/uploads/"))).toBe(true)
      expect(errors).toEqual([])
      await close()
    } finally {
      await proxied.close()
    }
  })

  it("fits on a narrow screen", async () => {
    const { name } = await deployInProcess("narrow", "web", `branch-${"x".repeat(100)}`, "<h1>Narrow</h1>")
    const { page, errors, close } = await open(server, {
      path: "/accounts/narrow/deployments",
      context: { viewport: { width: 375, height: 700 } }
    })
    await page.getByRole("link", { name: "web", exact: true }).waitFor()
    await page.getByRole("button", { name: "New project" }).click()
    await expectNoHorizontalScroll(page)
    await page.getByRole("link", { name: "web", exact: true }).click()
    await page.getByText("Last run: deployed").waitFor()
    await expectNoHorizontalScroll(page)
    await page.evaluate(`location.hash = '#/accounts/narrow/deployments/web/${name}'`)
    await waitForPublish(page)
    await expectNoHorizontalScroll(page)
    expect(errors).toEqual([])
    await close()
  })
})
