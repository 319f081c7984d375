import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { sites } from "@tollgate/sites"
import { eventually } from "@tollgate/testing"
import { afterEach, describe, expect, it } from "vitest"
import { makePageArchive } from "./archives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

let server: TestServer
afterEach(() => server.close())

const startWithBuild = async (command: string, options: object = {}) => {
  server = await startTestServer(MemoryStore.open(), { build: { command, ...options } })
  return server
}

const findProcesses = (pattern: string): string => {
  try {
    return execFileSync("pgrep", ["-f", pattern], { encoding: "utf8" })
  } catch {
    return ""
  }
}

describe("a build", () => {
  it("runs the command in the source folder, and serves its output", async () => {
    const { deploy, call } = await startWithBuild(
      "mkdir dist && tr a-z A-Z < index.html > dist/index.html && echo built",
      {
        output: "dist"
      }
    )
    const { status, steps, buildResult, url } = await deploy("p", makePageArchive("hello"))
    expect({ status, build: steps.build.status }).toEqual({ status: "SUCCESS", build: "done" })
    expect(buildResult).toMatchObject({ exitCode: 0, files: 1 })
    expect(buildResult.log).toContain("built")
    expect((await call("GET", url)).body).toBe("HELLO")
    await expect.poll(() => server.onDisk().staging).toEqual([])
  })

  it("has a clean environment", async () => {
    process.env["TOLLGATE_TEST_SECRET"] = "secret value"
    const { deploy, call } = await startWithBuild("env | sort > index.html; pwd >> index.html", {
      env: { GREETING: "hi", PATH: undefined, UNSET: undefined }
    })
    const { url } = await deploy("p", makePageArchive("x"))
    const environment = (await call("GET", url)).body
    delete process.env["TOLLGATE_TEST_SECRET"]
    expect(environment).not.toContain("secret value")
    expect(environment).toContain("GREETING=hi")
    const names = environment.split("\n").flatMap((line: string) => /^(\w+)=/.exec(line)?.[1] ?? [])
    // The shell adds these variables.
    expect(names.filter((name: string) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name))).toEqual([
      "CI",
      "GREETING",
      "HOME",
      "LANG",
      "PATH",
      "TMPDIR",
      "TOLLGATE_RELEASE"
    ])
    expect(environment).toContain(server.folder)
  })

  const isRoot = process.getuid?.() === 0
  const readServer = "cat /proc/$PPID/environ > /dev/null && echo read the environment; cat index.html > copy.html; id"

  it.runIf(isRoot)("cannot read the server process when it runs as another user (requires root)", async () => {
    const { deploy, folder, call } = await startWithBuild(readServer, { uid: 65_534, gid: 65_534 })
    chmodSync(folder, 0o755)
    const { status, buildResult, url } = await deploy("p", makePageArchive("mine", { name: "d/e/f" }))
    expect(status).toBe("SUCCESS")
    expect(buildResult.log.join("\n")).toMatch(/environ: Permission denied/)
    expect(buildResult.log.join("\n")).toMatch(/uid=65534\S* gid=65534\S* groups=65534/)
    expect(buildResult.log).not.toContain("read the environment")
    expect((await call("GET", `${url}copy.html`)).body).toBe("mine")
    // Later builds run as the same user and must not be able to change the release.
    const writable = ["-uid", "65534", "-o", "-perm", "/go=w"]
    expect(execFileSync("find", [join(folder, "releases"), ...writable], { encoding: "utf8" })).toBe("")
    expect((await call("DELETE", `/v1/deployments/${url.split("/").at(-2)}`)).status).toBe(204)
    expect(server.onDisk()).toEqual({ sources: [], staging: [], releases: [] })
  })

  it("requires uid and gid together", () => {
    expect(() => sites({ folder: "x", build: { command: "true", uid: 1 } })).toThrow(
      "build: uid and gid must be set together"
    )
  })

  it("reports a failure with the log", async () => {
    const { deploy, call } = await startWithBuild("echo out; echo err >&2; exit 3")
    const { status, steps, buildResult, url } = await deploy("p", makePageArchive("x"))
    expect(status).toBe("ERROR")
    expect(steps.build).toMatchObject({ status: "failed", message: "The build exited with code 3" })
    expect(buildResult).toMatchObject({ exitCode: 3, error: "The build exited with code 3" })
    expect(buildResult.log).toEqual(expect.arrayContaining(["out", "err", "The build exited with code 3"]))
    const name = url.split("/").at(-2)
    expect((await call("GET", `/v1/deployments/${name}`)).body).toMatchObject({
      state: "ERRORED",
      message: "build-failed"
    })
    await expect.poll(() => server.onDisk()).toMatchObject({ staging: [], releases: [] })
  })

  it("reports a missing command and a missing output folder", async () => {
    const { deploy } = await startWithBuild("no-such-command-here", { output: "dist" })
    const missing = await deploy("p", makePageArchive("x"))
    expect(missing.buildResult.exitCode).toBe(127)
    await server.close()
    const empty = await startWithBuild("true", { output: "dist" })
    const { steps, buildResult } = await empty.deploy("p", makePageArchive("x"))
    expect(steps.check).toMatchObject({ status: "failed", message: "The folder to serve does not exist" })
    expect(buildResult.error).toBe("The folder to serve does not exist")
  })

  it("is killed at its timeout, with all its processes", async () => {
    const { deploy } = await startWithBuild("echo started; sleep 4711 & sleep 4711", { timeout: 3_000 })
    const { status, steps, buildResult } = await deploy("p", makePageArchive("x"))
    expect(status).toBe("ERROR")
    expect(steps.build.message).toMatch(/exceeded its timeout/)
    expect(buildResult.log).toContain("started")
    expect(findProcesses("sleep 4711")).toBe("")
  })

  it("keeps the last lines of a flood of output, while the server stays responsive", async () => {
    const { deploy, call } = await startWithBuild(
      "yes flood | head -c 50000000; head -c 20000000 /dev/zero | tr '\\0' z; echo; echo the end"
    )
    const results = await Promise.all([
      deploy("p", makePageArchive("x")),
      ...Array.from({ length: 50 }, () => call("GET", "/healthz"))
    ])
    const [{ status, buildResult }, ...healthChecks] = results as [
      Awaited<ReturnType<TestServer["deploy"]>>,
      ...Array<{ status: number }>
    ]
    expect(status).toBe("SUCCESS")
    expect(healthChecks.every(({ status }) => status === 200)).toBe(true)
    expect(buildResult.log.length).toBeLessThanOrEqual(200)
    expect(buildResult.log).toContain("the end")
    expect(Math.max(...buildResult.log.map((line) => line.length))).toBeLessThanOrEqual(502)
  })

  it("leaves no processes behind, also outside its process group", async () => {
    const { deploy } = await startWithBuild(
      "setsid sleep 4712 & (setsid sh -c 'sleep 4713 & sleep 4713' &) ; nohup sleep 4714 & for i in 1 2 3 4 5; do sleep 4715 & done; echo forked"
    )
    const { status, buildResult } = await deploy("p", makePageArchive("x"))
    expect(status).toBe("SUCCESS")
    expect(buildResult.log).toContain("forked")
    for (const pattern of ["sleep 4712", "sleep 4713", "sleep 4714", "sleep 4715"])
      expect(findProcesses(pattern), pattern).toBe("")
  })

  it("shows its progress in the status", async () => {
    const {
      createSource: source,
      put,
      status,
      waitForEnd: ended,
      folder,
      call
    } = await startWithBuild("echo first line; while [ ! -e ../../../go ]; do sleep 0.05; done; echo last line")
    const { uploadUrl, id } = await source("p")
    await put(uploadUrl, makePageArchive("x"))
    await expect.poll(async () => (await status("p", id)).buildResult.log).toContain("first line")
    expect(await status("p", id)).toMatchObject({
      status: "IN_PROGRESS",
      steps: { unpack: { status: "done" }, build: { status: "running" }, check: { status: "waiting" } }
    })
    const { url } = await status("p", id)
    const name = url.split("/").at(-2)
    expect((await call("GET", `/v1/deployments/${name}`)).body).toMatchObject({ state: "PENDING", message: "" })
    expect((await call("POST", `/v1/deployments/${name}/deploy`)).body).toEqual({ status: "already in progress" })
    const headers = { "idempotency-key": "deploy-once" }
    const once = () => call("POST", `/v1/deployments/${name}/deploy`, { headers })
    expect((await once()).body).toEqual({ status: "already in progress" })
    execFileSync("touch", [join(folder, "go")])
    expect((await ended("p", id)).buildResult.log).toContain("last line")
    expect((await once()).body).toEqual({ status: "already in progress" })
    expect((await status("p", id)).status).toBe("SUCCESS")
  })

  it("stops for a later upload and for a removal", async () => {
    const {
      createSource: source,
      put,
      waitForEnd: ended,
      call,
      status
    } = await startWithBuild("grep -q slow index.html && sleep 4716; echo done")
    const slow = await source("p")
    await put(slow.uploadUrl, makePageArchive("slow"))
    await expect.poll(async () => (await status("p", slow.id)).steps.build.status).toBe("running")
    const quick = await source("p")
    await put(quick.uploadUrl, makePageArchive("quick"))
    expect(await ended("p", slow.id)).toMatchObject({
      status: "ERROR",
      steps: { build: { status: "failed", message: "Superseded by a later upload" } }
    })
    const { url } = await ended("p", quick.id)
    expect((await call("GET", url)).body).toBe("quick")
    await expect.poll(() => findProcesses("sleep 4716")).toBe("")

    const second = await source("p")
    await put(second.uploadUrl, makePageArchive("slow"))
    await expect.poll(async () => (await status("p", second.id)).steps.build.status).toBe("running")
    expect((await call("DELETE", `/v1/deployments/${url.split("/").at(-2)}`)).status).toBe(204)
    await expect.poll(() => findProcesses("sleep 4716")).toBe("")
    await expect.poll(() => server.onDisk()).toEqual({ sources: [], staging: [], releases: [] })
  })

  it("of one project does not delay another project", async () => {
    const {
      createSource: source,
      put,
      waitForEnd: ended,
      folder
    } = await startWithBuild("cat index.html >> ../../../order; echo >> ../../../order; sleep 0.2")
    const ids: Array<readonly [string, string]> = []
    for (let upload = 0; upload < 12; upload++) {
      const project = upload === 5 ? "second" : `first-${upload}`
      const { uploadUrl, id } = await source(project)
      await put(uploadUrl, makePageArchive(project))
      ids.push([project, id])
    }
    for (const [project, id] of ids) expect((await ended(project, id)).status).toBe("SUCCESS")
    const order = readFileSync(join(folder, "order"), "utf8").trim().split("\n")
    expect(order.length).toBe(12)
    // Four builds run concurrently, so a few may overtake it.
    expect(order.indexOf("second")).toBeLessThan(9)
  })

  it("finds an escaped process with an empty environment by its working directory", async () => {
    const { deploy } = await startWithBuild("env -i setsid sleep 4717 & echo done")
    expect((await deploy("p", makePageArchive("x"))).status).toBe("SUCCESS")
    expect(findProcesses("sleep 4717")).toBe("")
  })

  it("does not reveal server paths when the output is a link, a loop or a file", async () => {
    const { deploy } = await startWithBuild(
      "case $(cat index.html) in link) ln -s /etc dist;; loop) ln -s dist dist;; file) touch dist;; up) ln -s .. dist;; esac",
      { output: "dist" }
    )
    for (const kind of ["link", "loop", "file", "up"]) {
      const { status, steps, buildResult } = await deploy("p", makePageArchive(kind))
      expect({ status, message: steps.check.message }, kind).toEqual({
        status: "ERROR",
        message: expect.stringMatching(/^The folder to serve (does not exist|is a symbolic link)$/)
      })
      expect(JSON.stringify(buildResult)).not.toContain(server.folder)
    }
  })

  it("rejects output that is too large without reading it", async () => {
    const { deploy } = await startWithBuild("mkdir dist; truncate -s 1T dist/huge.bin", { output: "dist" })
    expect((await deploy("p", makePageArchive("x"))).steps.check.message).toMatch(
      /"huge.bin" exceeds the limit of 524288000 bytes/
    )
  })

  it("can be removed if it removed the permissions of its files", async () => {
    const { deploy, call } = await startWithBuild(
      "mkdir -p dist keep/x; echo hi > dist/index.html; chmod 0 keep/x keep",
      {
        output: "dist"
      }
    )
    const { url } = await deploy("p", makePageArchive("x"))
    expect((await call("DELETE", `/v1/deployments/${url.split("/").at(-2)}`)).status).toBe(204)
    expect(server.onDisk()).toEqual({ sources: [], staging: [], releases: [] })
  })

  it("ends as soon as its command exits", async () => {
    const { deploy } = await startWithBuild("true")
    // A busy machine may take a second to start it, but not each time.
    await eventually(async () => {
      const { steps } = await deploy("p", makePageArchive("x"))
      const elapsed = Date.parse(steps.build.finishedOn ?? "") - Date.parse(steps.build.startedOn ?? "")
      expect(elapsed).toBeLessThan(1000)
    })
  })

  it("is skipped without the build option", async () => {
    server = await startTestServer(MemoryStore.open())
    const { steps } = await server.deploy(
      "p",
      makePageArchive("x", { name: "build.sh", content: "touch /tmp/never", mode: 0o755 })
    )
    expect(steps.build).toEqual({ status: "skipped" })
    expect(existsSync("/tmp/never")).toBe(false)
  })

  it("does not serve symbolic links", async () => {
    const { deploy, call } = await startWithBuild(
      "ln -s /etc/passwd passwd; ln -s /etc etc; ln -sf /etc/hostname index.html; echo real > real.txt"
    )
    const { url } = await deploy("p", makePageArchive("x"))
    for (const path of ["passwd", "etc/passwd", "index.html", ""])
      expect((await call("GET", `${url}${path}`)).status).toBe(404)
    expect((await call("GET", `${url}real.txt`)).body).toBe("real\n")
    expect(readFileSync("/etc/passwd", "utf8")).toContain("root")
  })
})
