import { expect, it } from "vitest"
import { completeLockFile, findMissing, type LockFile, readLockFile } from "../src/lockFile.ts"

it("package-lock.json has every platform that the packages list; if it has not, run `npm run complete:lock`", () => {
  expect(findMissing(readLockFile())).toEqual([])
})

const listPackagesOfPlatforms = (lockFile: LockFile) =>
  Object.entries(lockFile.packages).filter(([path]) =>
    /(linux|darwin|win32)-(x64|arm64)/.test(path.split("node_modules/").at(-1) ?? "")
  )

it.each([
  ["package-lock.json", 50],
  ["test-external/postgres/package-lock.json", 8]
])("%s has the platform of every package that is for one", (path, atLeast) => {
  const packages = listPackagesOfPlatforms(readLockFile(path))
  expect(packages.length).toBeGreaterThan(atLeast)
  expect(packages.filter(([, { os, cpu }]) => os === undefined || cpu === undefined)).toEqual([])
})

it("PostgreSQL of the store tests is locked for each version and platform", () => {
  const locked = listPackagesOfPlatforms(readLockFile("test-external/postgres/package-lock.json")).map(
    ([path, { version }]) => [path.replace("node_modules/", ""), Number.parseInt(version ?? "", 10)]
  )
  const versions = [15, 16, 17].flatMap((version) =>
    ["darwin-arm64", "linux-arm64", "linux-x64"].map((platform) => [`postgres${version}-${platform}`, version])
  )
  expect(locked).toEqual(versions)
})

it("a platform that the registry does not have is completed, and one without a known platform is not guessed", () => {
  const makeLockFile = (name: string) => ({
    packages: {
      "": {},
      "node_modules/a": { dev: true, optionalDependencies: { [name]: "1.2.3", b: "1.0.0" } },
      "node_modules/a/node_modules/b": { version: "1.0.0" }
    }
  })
  expect(completeLockFile(makeLockFile("@a/native-linux-arm-musleabihf")).packages).toHaveProperty(
    ["node_modules/@a/native-linux-arm-musleabihf"],
    { version: "1.2.3", cpu: ["arm"], dev: true, libc: ["musl"], optional: true, os: ["linux"] }
  )
  expect(() => completeLockFile(makeLockFile("@a/native-for-all"))).toThrow("@a/native-for-all@1.2.3 is not known")
})
