/**
 * Measures how long work holds the event loop at a time.
 */

/** The processor time of this thread in milliseconds; before Node 23.9, of this process. */
const readCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1_000
}

/** In milliseconds. The processor time is the one that other processes on the machine do not lengthen. */
export interface Turns<Result> {
  /** The longest turn of the event loop. */
  readonly longest: number
  readonly longestCpu: number
  /** All turns together. */
  readonly total: number
  readonly totalCpu: number
  readonly result: Result
}

/** Runs a function, and measures the longest turn of the event loop meanwhile. */
export const measureTurns = async <Result>(run: () => Promise<Result>): Promise<Turns<Result>> => {
  const [startedAt, startedCpu] = [performance.now(), readCpuMs()]
  let [longest, longestCpu, turnedAt, turnedCpu] = [0, 0, startedAt, startedCpu]
  const endTurn = () => {
    const [now, cpu] = [performance.now(), readCpuMs()]
    longest = Math.max(longest, now - turnedAt)
    longestCpu = Math.max(longestCpu, cpu - turnedCpu)
    turnedAt = now
    turnedCpu = cpu
  }
  const turn = () => {
    endTurn()
    timer = setImmediate(turn)
  }
  let timer = setImmediate(turn)
  const result = await run()
  clearImmediate(timer)
  endTurn()
  return { longest, longestCpu, total: turnedAt - startedAt, totalCpu: turnedCpu - startedCpu, result }
}
