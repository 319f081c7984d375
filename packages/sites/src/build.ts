/**
 * Runs the host's own command over a source, with a clean environment, and leaves no process behind.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readdir, readFile, readlink, realpath } from "node:fs/promises"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { promisify } from "node:util"

/**
 * A build is not a sandbox. Without `uid` and `gid` its command, and everything that an upload makes it run, is your
 * server's own user: it can read what your server can, such as the environment of the server's process
 * (`/proc/<pid>/environ`, with your secrets), its files and its database, and it can signal the server. With them it is
 * another user, but it still has the network, and the CPU, memory and disk of the machine. Run the build of untrusted
 * sources in a container or a virtual machine.
 */
export interface BuildOptions {
  /** What a shell runs in the folder of the unpacked source: `npm ci && npm run build`. */
  readonly command: string
  /** Milliseconds after which it is killed, with all that it started: ten minutes, unless said otherwise. */
  readonly timeout?: number
  /** Variables beside `PATH`, `HOME`, `TMPDIR`, `LANG` and `CI`; nothing of the server's own is passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder that is served, below the source's: `dist`. All of it, unless said otherwise. */
  readonly output?: string
  /**
   * The user and group that the command runs as; give both. Needs a server that may change users, such as root, and a
   * `folder` that this user can reach.
   */
  readonly uid?: number
  readonly gid?: number
}

/** Fails for a user without a group: the build would keep the server's group. */
export const checkBuildUser = ({ uid, gid }: BuildOptions): void => {
  if ((uid === undefined) !== (gid === undefined)) throw new TypeError("build: give uid and gid together")
}

/** Gives the folders to the user of the build. They hold files and folders alone: there is no link to follow. */
const chownToBuildUser = async ({ uid, gid }: BuildOptions, ...folders: ReadonlyArray<string>): Promise<void> => {
  if (uid === undefined) return
  await promisify(execFile)("chown", ["-R", "-h", `${uid}:${gid}`, "--", ...folders])
}

/** Takes the folders back, so that no later build, which is the same user, can change what this one has made. */
const chownBack = async ({ uid }: BuildOptions, ...folders: ReadonlyArray<string>): Promise<void> => {
  if (uid === undefined) return
  await promisify(execFile)("chown", ["-R", "-h", `${process.getuid?.()}:${process.getgid?.()}`, "--", ...folders])
  await promisify(execFile)("chmod", ["-R", "u+rwX,go-w", "--", ...folders])
}

export const defaultTimeout = 10 * 60 * 1000

/** Marks every process of a build, so that those are found which left its group. */
const marker = "TOLLGATE_RELEASE"

/** How much of a line is waited for. */
const maxLineLength = 4096
/** How many lines of one piece are looked at: the rest of a flood would be dropped anyway. */
const maxLines = 200

/** Hands on what a process says, line by line, whatever it says. */
const pipeLines = (output: Readable, log: (line: string) => void): void => {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines.slice(-maxLines)) log(line.slice(0, maxLineLength))
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
    // It has ended.
  }
}

/** Processes that carry the mark, or are still in the folder; Linux alone can tell. */
const findEscapedProcesses = async (id: string, folder: string): Promise<ReadonlyArray<number>> => {
  const mark = `${marker}=${id}`
  const names = await readdir("/proc").catch(() => [])
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const environment = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "")
        const place = await readlink(`/proc/${name}/cwd`).catch(() => "")
        const isOurs = environment.split("\0").includes(mark) || place.startsWith(folder)
        return isOurs ? [Number(name)] : []
      })
  )
  return found.flat()
}

/** Ends the build's group, and then whoever has left it, until there is nobody. */
const killAll = async (child: ChildProcess, id: string, folder: string): Promise<void> => {
  if (child.pid !== undefined) kill(-child.pid)
  for (let round = 0; round < 50; round++) {
    const survivors = await findEscapedProcesses(id, folder)
    if (survivors.length === 0) return
    for (const pid of survivors) kill(pid)
  }
}

export interface BuildContext {
  /** Names the build among all others. */
  readonly id: string
  /** The folder of the unpacked source. */
  readonly folder: string
  /** A folder for what the build needs beside: its home and its temporary files. */
  readonly scratch: string
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

/** Runs the command, and gives how it ended: by a code, or by the time-out. */
export const build = async (
  options: BuildOptions,
  { id, folder, scratch, log, signal }: BuildContext
): Promise<number | "timed out"> => {
  const { command, timeout = defaultTimeout, env = {}, uid, gid } = options
  const [home, tmp] = [join(scratch, "home"), join(scratch, "tmp")]
  await Promise.all([mkdir(home, { recursive: true }), mkdir(tmp, { recursive: true })])
  await chownToBuildUser(options, folder, scratch)
  const place = await realpath(folder)
  signal.throwIfAborted()
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: folder,
    ...(uid === undefined ? {} : { uid, gid }),
    // A group of its own, so that it can be ended with all that it started.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      TMPDIR: tmp,
      LANG: "C.UTF-8",
      CI: "true",
      ...env,
      [marker]: id
    }
  })
  const closed = once(child, "close").catch(() => undefined)
  pipeLines(child.stdout, log)
  pipeLines(child.stderr, log)
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
  try {
    const [code, killedBy] = await once(child, "exit", { signal: limit })
    if (killedBy !== null) log(`Ended by ${killedBy}`)
    return code ?? 128
  } catch (error) {
    if (signal.aborted || !limit.aborted) throw error
    return "timed out"
  } finally {
    await killAll(child, id, place)
    await chownBack(options, folder, scratch)
    // Whoever is left may hold its output open; nobody waits for that.
    const enough = setTimeout(() => child.stdout.destroy(), 1000)
    await Promise.race([closed, once(child.stdout, "close")])
    clearTimeout(enough)
    child.stdout.destroy()
    child.stderr.destroy()
  }
}
