import { ConfigurationError } from "@tollgate/core"
import { diskSourceStore, type SitesOptions, sites } from "@tollgate/sites"
import { describe, expect, it } from "vitest"

const build = { command: "true" }

/** Each option once: an option without a row here does not compile. */
const all: { readonly [Name in keyof Required<SitesOptions>]: SitesOptions[Name] } = {
  folder: "x",
  build: { ...build, timeout: 1000, env: { TOKEN: "s3cret" }, output: "dist", uid: 1, gid: 1 },
  limits: { entries: 5 },
  freeDiskReserveMebibytes: 0,
  workers: 1,
  sourceLimit: 1000,
  productionBranch: "main"
}

const getError = (create: () => unknown): ConfigurationError => {
  try {
    create()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError)
    return error as ConfigurationError
  }
  return expect.fail("The options are accepted")
}

const createError = (options: unknown): ConfigurationError => getError(() => sites(options as SitesOptions))

describe("the options of sites", () => {
  it("can all be set", () => {
    expect(sites(all)).toMatchObject({ sourceLimit: 1000, productionBranch: "main" })
  })

  it("count as absent if they are undefined", () => {
    const unset = Object.fromEntries(Object.keys(all).map((name) => [name, undefined]))
    expect(() => sites({ ...unset, folder: "x" })).not.toThrow()
    const unsetBuild = { timeout: undefined, env: { TOKEN: undefined }, output: undefined, uid: undefined }
    expect(() => sites({ ...all, build: { ...build, ...unsetBuild }, limits: { entries: undefined } })).not.toThrow()
  })

  it.each(Object.keys(all))("have another type than given for %s, or another name", (name) => {
    for (const wrong of [null, 0.5, "", Symbol("s3cret"), { other: "s3cret" }, ["s3cret"]]) {
      expect(createError({ ...all, [name]: wrong }).option.split(".")[0]).toBe(name)
    }
    const names = "folder, build, limits, freeDiskReserveMebibytes, workers, sourceLimit, productionBranch"
    const { message } = createError({ ...all, [`${name}x`]: "s3cret" })
    expect(message).toBe(`${name}x: unknown option; the options are ${names}`)
  })

  it.each<readonly [option: string, options: unknown, problem: string]>([
    ["folder", undefined, "must be the path of a folder"],
    ["folder", {}, "must be the path of a folder"],
    ["folder", { folder: undefined }, "must be the path of a folder"],
    ["options", null, "must be an object; the options are folder, build"],
    ["options", "data/sites", "must be an object"],
    ["options", ["data/sites"], "must be an object"],
    ["workers", { folder: "x", workers: 0 }, "must be a positive integer"],
    ["freeDiskReserveMebibytes", { folder: "x", freeDiskReserveMebibytes: -1 }, "an integer of at least 0"],
    ["limits.entries", { folder: "x", limits: { entries: 0 } }, "must be a positive integer"],
    ["limits.timeoutMs", { folder: "x", limits: { timeoutMs: 2 ** 31 } }, "must be a number of milliseconds"],
    ["limits.files", { folder: "x", limits: { files: 1 } }, "unknown option; the options are entries, bytes"],
    ["build", { folder: "x", build: "npm ci" }, "must be an object; the options are command"],
    ["build.command", { folder: "x", build: {} }, "must be a shell command"],
    ["build.comand", { folder: "x", build: { comand: "true" } }, "unknown option"],
    ["build.timeout", { folder: "x", build: { ...build, timeout: 2 ** 31 } }, "an integer from 1 to 2147483647"],
    [
      "build.env",
      { folder: "x", build: { ...build, env: { PORT: 80 } } },
      "must be an object whose values are strings"
    ],
    ["build.output", { folder: "x", build: { ...build, output: "a/../../b" } }, "must be a folder below the source"],
    ["build.output", { folder: "x", build: { ...build, output: "/dist" } }, "must be a folder below the source"],
    ["build.uid", { folder: "x", build: { ...build, uid: "root", gid: 1 } }, "must be a numeric id"],
    ["build", { folder: "x", build: { ...build, gid: 1 } }, "uid and gid must be set together"]
  ])("are rejected with the name %s for %o", (option, options, problem) => {
    const error = createError(options)
    expect(error.option).toBe(option)
    expect(error.problem).toContain(problem)
  })
})

it.each([undefined, null, "", 5])("diskSourceStore rejects %s as a folder", (folder) => {
  expect(getError(() => diskSourceStore(folder as string)).message).toBe("folder: must be the path of a folder")
})
