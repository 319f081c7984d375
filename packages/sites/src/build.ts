/**
 * Runs the configured build command on a source, with a clean environment, and kills all processes that it leaves
 * behind.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readdir, readFile, readlink, realpath } from "node:fs/promises"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { promisify } from "node:util"
import { Options } from "@tollgate/store/internal"
import type { BuildOptions } from "./options.ts"

/** Changes the owner of the folders to the build user. Safe, since unpacked sources contain no links. */
const chownToBuildUser = async ({ uid, gid }: BuildOptions, ...folders: ReadonlyArray<string>): Promise<void> => {
  if (uid === undefined) return
  await promisify(execFile)("chown", ["-R", "-h", `${uid}:${gid}`, "--", ...folders])
}

/** Changes the owner back, so that later builds, which run as the same user, cannot change the result. */
const chownBack = async ({ uid }: BuildOptions, ...folders: ReadonlyArray<string>): Promise<void> => {
  if (uid === undefined) return
  await promisify(execFile)("chown", ["-R", "-h", `${process.getuid?.()}:${process.getgid?.()}`, "--", ...folders])
  await promisify(execFile)("chmod", ["-R", "u+rwX,go-w", "--", ...folders])
}

const defaultTimeout = 10 * 60 * 1000

/** The environment variable that marks the processes of a build, to find those that left its process group. */
const marker = "TOLLGATE_RELEASE"

/** Longer lines are split and truncated. */
const maxLineLength = 4096
/** How many lines of one chunk are logged. The log buffer would drop the others anyway. */
const maxLinesPerChunk = 200

/** Passes the output of a process to `log`, line by line. */
const pipeLines = (output: Readable, log: (line: string) => void): void => {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines.slice(-maxLinesPerChunk)) log(line.slice(0, maxLineLength))
    if (rest.length > maxLineLength) {
      log(rest.slice(0, maxLineLength))
      rest = ""
    }
  })
  output.on("end", () => {
    if (rest !== "") log(rest)
  })
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // The process has already exited.
  }
}

/** Finds processes with the marker in their environment or with a working directory in the folder. Linux only. */
const findEscapedProcesses = async (id: string, folder: string): Promise<ReadonlyArray<number>> => {
  const mark = `${marker}=${id}`
  const names = await readdir("/proc").catch(() => [])
  const pids = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const environment = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "")
        const cwd = await readlink(`/proc/${name}/cwd`).catch(() => "")
        const isFromBuild = environment.split("\0").includes(mark) || cwd.startsWith(folder)
        return isFromBuild ? [Number(name)] : []
      })
  )
  return pids.flat()
}

/** Kills the build's process group, and then the processes that left it, until none are found. */
const killAll = async (child: ChildProcess, id: string, folder: string): Promise<void> => {
  if (child.pid !== undefined) kill(-child.pid)
  for (let round = 0; round < 50; round++) {
    const survivors = await findEscapedProcesses(id, folder)
    if (survivors.length === 0) return
    for (const pid of survivors) kill(pid)
  }
}

export interface BuildContext {
  /** Unique among all builds. */
  readonly id: string
  /** The folder of the unpacked source. */
  readonly folder: string
  /** A folder for the build's home directory and temporary files. */
  readonly scratch: string
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

/** Runs the command and returns its exit code, or `timed out`. */
export const build = async (
  options: BuildOptions,
  { id, folder, scratch, log, signal }: BuildContext
): Promise<number | "timed out"> => {
  const { command, timeout = defaultTimeout, env = {}, uid, gid } = options
  const [home, tmp] = [join(scratch, "home"), join(scratch, "tmp")]
  await Promise.all([mkdir(home, { recursive: true }), mkdir(tmp, { recursive: true })])
  await chownToBuildUser(options, folder, scratch)
  const realFolder = await realpath(folder)
  signal.throwIfAborted()
  const defaultEnv = {
    PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    TMPDIR: tmp,
    LANG: "C.UTF-8",
    CI: "true"
  }
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: folder,
    ...(uid === undefined ? {} : { uid, gid }),
    // Starts a new process group, so that it can be killed with all its children.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...Options.withDefaults<NonNullable<BuildOptions["env"]>>(defaultEnv, env), [marker]: id }
  })
  const closed = once(child, "close").catch(() => undefined)
  pipeLines(child.stdout, log)
  pipeLines(child.stderr, log)
  const timeoutOrAbort = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
  try {
    const [code, killSignal] = await once(child, "exit", { signal: timeoutOrAbort })
    if (killSignal !== null) log(`Killed by ${killSignal}`)
    return code ?? 128
  } catch (error) {
    if (signal.aborted || !timeoutOrAbort.aborted) throw error
    return "timed out"
  } finally {
    await killAll(child, id, realFolder)
    await chownBack(options, folder, scratch)
    // A surviving process may keep the output open, so wait at most 1 second.
    const timer = setTimeout(() => child.stdout.destroy(), 1000)
    await Promise.race([closed, once(child.stdout, "close")])
    clearTimeout(timer)
    child.stdout.destroy()
    child.stderr.destroy()
  }
}
