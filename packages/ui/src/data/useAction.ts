/**
 * Runs a change, such as saving a form: not twice at once, and with its problem for the person to see.
 */
import { useRef, useState } from "preact/hooks"
import { type Problem, toProblem } from "../api/ApiError.ts"

export interface Action<Arguments extends ReadonlyArray<unknown>> {
  /** Returns whether it succeeded. */
  readonly run: (...args: Arguments) => Promise<boolean>
  readonly isRunning: boolean
  readonly problem: Problem | undefined
}

export const useAction = <Arguments extends ReadonlyArray<unknown>>(
  perform: (...args: Arguments) => Promise<void>
): Action<Arguments> => {
  const [isRunning, setIsRunning] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const isRunningNow = useRef(false)
  const run = async (...args: Arguments): Promise<boolean> => {
    if (isRunningNow.current) return false
    isRunningNow.current = true
    setIsRunning(true)
    setProblem(undefined)
    try {
      await perform(...args)
      return true
    } catch (error) {
      setProblem(toProblem(error))
      return false
    } finally {
      isRunningNow.current = false
      setIsRunning(false)
    }
  }
  return { run, isRunning, problem }
}
