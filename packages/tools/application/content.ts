/** Checks the files of the installed packages whose names are its arguments. */
import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"

for (const name of process.argv.slice(2)) {
  const read = (file: string) => readFileSync(`node_modules/${name}/${file}`, "utf8")
  const { keywords, license, dependencies = {} } = JSON.parse(read("package.json"))
  assert.ok(keywords?.length > 0, `${name} has no keywords`)
  assert.equal(license, "MIT")
  assert.match(read("LICENSE"), /^MIT License/)
  assert.ok(!("@tollgate/core" in dependencies) && !("effect" in dependencies), `${name} can bring a second core`)
}
for (const name of ["@tollgate/core", "effect"])
  assert.deepEqual(globSync(`node_modules/**/node_modules/${name}`), [], `a second copy of ${name}`)
