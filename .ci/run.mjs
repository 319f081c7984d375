/**
 * Runs every check that a change must pass. Two lanes run side by side, because many tests wait for servers and
 * processes. At the end it prints how long each part took, and fails if a part is 20 % above its budget in budget.json, in
 * seconds or in tests, if it has fewer tests, or if the installed packages are 20 % larger.
 *
 * Of thousands of tests with real servers and processes, one may fail only on a machine as busy as this one just was. If
 * no more than three files failed, they run once more, alone. What fails again fails the run; what passes is listed as
 * unsteady, because it is a defect that somebody has to mend. With `--strict`, as before a release, nothing is repeated.
 *
 * Plain JavaScript without dependencies: it runs before `npm ci`, on the machine's own Node.
 */
import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"

const tolerance = 1.2
const mostUnsteadyFiles = 3
const isStrict = process.argv.includes("--strict")
const budget = JSON.parse(readFileSync(new URL("budget.json", import.meta.url), "utf8"))

const install = { name: "install", command: "npm ci" }
/** The parts of a lane run one after another. Files of tests are appended to `again`. */
const lanes = [
  [
    // The command of the README.
    { name: "test", command: "npm install && npm test", again: "npm test --" },
    { name: "test:faults", command: "npm run test:faults", again: "npm run test:faults --" }
  ],
  [
    { name: "check", command: "npm run check" },
    { name: "test:stores", command: "npm run test:stores", again: "npm run test:stores --" },
    { name: "test:docs", command: "npm run test:docs", again: "npm run test:docs --" },
    { name: "build", command: "npm run build" },
    { name: "check:packages", command: "npm run check:packages" },
    { name: "test:nodes", command: "npm run test:nodes -- --only-node-facing", again: "npm run test:nodes --" }
  ]
]

/** Seconds of a fixed computation: how fast this machine is now. */
const measureMachine = () => {
  const block = Buffer.alloc(1 << 20, 7)
  const runs = Array.from({ length: 5 }, () => {
    const start = performance.now()
    const hash = createHash("sha256")
    for (let index = 0; index < 200; index++) hash.update(block)
    hash.digest()
    return (performance.now() - start) / 1000
  })
  return runs.sort((left, right) => left - right)[2]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: Vitest prints in colours
const withoutColours = (output) => output.replaceAll(/\u001b\[[0-9;]*m/g, "")

/** Of all runs in the output, how many tests have "passed" or "failed". */
const countTests = (output, outcome) =>
  [...output.matchAll(new RegExp(`^\\s*Tests\\s.*?(\\d+) ${outcome}`, "gm"))].reduce(
    (sum, [, count]) => sum + Number(count),
    0
  )

/** The files whose tests failed. None if something failed that is in no test: then nothing is repeated. */
const findFailedFiles = (output) =>
  /^⎯+ Unhandled /m.test(output)
    ? []
    : [
        ...new Set(
          [...output.matchAll(/^\s*FAIL\s+(?:\S+\s+)?((?:packages|examples)\/\S+\.test\.ts)/gm)].map(([, file]) => file)
        )
      ]

/** What Vitest says of the tests that failed; of another command that failed, the last lines. */
const findFailure = (output) => {
  const begin = output.search(/^⎯+ (Failed|Unhandled) /m)
  return begin === -1 ? output.slice(-3000) : output.slice(begin, begin + 12_000)
}

/** Runs a part, and prints its output when it has ended, so that the output of two parts does not mix. */
const run = ({ name, command, again }) =>
  new Promise((resolve) => {
    console.log(`\n> ${name}: ${command}`)
    const start = performance.now()
    const child = spawn("bash", ["-o", "pipefail", "-c", `(${command}) 2>&1`], { stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      output += chunk
    })
    child.on("close", (status) => {
      const seconds = Math.round((performance.now() - start) / 1000)
      const text = withoutColours(output)
      console.log(`\n===== ${name}: ${status === 0 ? "passed" : "FAILED"} after ${seconds} s\n${output}`)
      resolve({
        name,
        again,
        seconds,
        tests: countTests(text, "passed"),
        failedTests: countTests(text, "failed"),
        isPassed: status === 0,
        failure: findFailure(text),
        failedFiles: findFailedFiles(text)
      })
    })
  })

const runLane = async (parts) => {
  const results = []
  for (const part of parts) results.push(await run(part))
  return results
}

/** Runs the files that failed once more. If they pass, they are unsteady. */
const repeat = async (result) => {
  const { name, again, failedFiles, failedTests, tests, failure } = result
  const { isPassed, ...second } = await run({
    name: `${name}, once more`,
    command: `${again} ${failedFiles.join(" ")}`
  })
  return isPassed
    ? { ...result, isPassed, tests: tests + failedTests, unsteadyFiles: failedFiles }
    : { ...result, failure: `${failure}\n\nOnce more, alone:\n${second.failure}` }
}

/** Repeats what failed, if it is little and in files of tests only. */
const repeatUnsteady = async (results) => {
  const failed = results.filter(({ isPassed }) => !isPassed)
  const isLittle = failed.flatMap(({ failedFiles }) => failedFiles).length <= mostUnsteadyFiles
  if (isStrict || !isLittle || failed.some(({ again, failedFiles }) => !again || failedFiles.length === 0))
    return results
  const repeated = []
  for (const result of results) repeated.push(result.isPassed ? result : await repeat(result))
  return repeated
}

const measureInstalled = () => Number.parseInt(execFileSync("du", ["-sm", "node_modules"], { encoding: "utf8" }), 10)

/** The ticks of the processors, and those that other virtual machines took. Nothing is known of other systems. */
const readTicks = () => {
  if (!existsSync("/proc/stat")) return { all: 1, stolen: 0 }
  const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n")[0].split(/\s+/).map(Number)
  return { all: ticks.slice(0, 8).reduce((sum, count) => sum + count, 0), stolen: ticks[7] ?? 0 }
}

const start = performance.now()
const ticksBefore = readTicks()
const speedBefore = measureMachine()
const results = [await run(install)]
const isInstalled = results[0].isPassed
const megabytes = isInstalled ? measureInstalled() : 0
if (isInstalled) results.push(...(await repeatUnsteady((await Promise.all(lanes.map(runLane))).flat())))
const seconds = Math.round((performance.now() - start) / 1000)

/** Above 1 on a machine that is slower than the one on which the budget was measured, or shared with others. */
const ticks = readTicks()
const stolenShare = (ticks.stolen - ticksBefore.stolen) / Math.max(1, ticks.all - ticksBefore.all)
const slowness = Math.max(1, Math.min(speedBefore, measureMachine()) / budget.machineSeconds) / (1 - stolenShare)
const problems = results.filter(({ isPassed }) => !isPassed).map(({ name }) => `${name} failed.`)
const check = (what, value, allowed, remedy) => {
  if (value > allowed * tolerance) problems.push(`${what}: ${value}, the budget is ${Math.round(allowed)}. ${remedy}`)
}
const rows = results.map(({ name, seconds, tests }) => {
  const allowed = budget.parts[name] ?? { seconds: 0, tests: 0 }
  check(`Seconds of ${name}`, seconds, allowed.seconds * slowness, "Make it faster, or state the reason in the budget.")
  if (tests < allowed.tests) problems.push(`Tests of ${name}: ${tests}, fewer than the ${allowed.tests} of the budget.`)
  check(`Tests of ${name}`, tests, allowed.tests, "State what was added in the budget.")
  return [name, `${seconds} s`, `${allowed.seconds} s`, tests === 0 ? "" : `${tests} tests`]
})
check("Seconds in all", seconds, budget.seconds * slowness, "Make it faster, or state the reason in the budget.")
if (isInstalled) {
  rows.push(["node_modules", `${megabytes} MB`, `${budget.installedMegabytes} MB`, ""])
  check("Megabytes of node_modules", megabytes, budget.installedMegabytes, "Remove what is not needed.")
}
rows.push(["all", `${seconds} s`, `${budget.seconds} s`, ""])

// Said again here: the output of other parts may be long.
for (const { name, isPassed, failure } of results) if (!isPassed) console.log(`\n===== ${name} failed:\n${failure}`)
console.log("\npart            took      budget")
for (const [name, took, allowed, tests] of rows)
  console.log(`${name.padEnd(14)}  ${took.padEnd(8)}  ${allowed.padEnd(8)}  ${tests}`)
if (slowness > 1.05)
  console.log(`This machine takes ${slowness.toFixed(2)} times as long as that of the budget, which is widened.`)
for (const { name, unsteadyFiles, failure } of results)
  if (unsteadyFiles)
    console.log(`\nUnsteady in ${name}: failed at first, and passed alone: ${unsteadyFiles.join(", ")}\n${failure}`)
for (const problem of problems) console.log(problem)
const passed = results.reduce((sum, { tests }) => sum + tests, 0)
console.log(`\n${passed} passed, ${results.filter(({ isPassed }) => !isPassed).length} failed`)
process.exitCode = problems.length === 0 ? 0 : 1
