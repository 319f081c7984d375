/**
 * Runs one module in several processes. They start their work together when all are ready, so that they really contend.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { getNodeOptions } from "./childProcesses.ts"

type Message =
  | { readonly _tag: "ready" }
  | { readonly _tag: "start"; readonly input: unknown }
  | { readonly _tag: "done"; readonly result: unknown }
  | { readonly _tag: "failed"; readonly error: string }

const nextMessage = async (child: ChildProcess): Promise<Message> => {
  const exited = once(child, "exit").then(([code, signal]) => {
    throw new Error(`A worker exited early with ${signal ?? code}`)
  })
  const [message] = await Promise.race([once(child, "message"), exited])
  exited.catch(() => undefined)
  return message as Message
}

/** Runs a module that calls `worker` in one process per input, and returns the results. */
export const runWorkers = async <Result>(
  module: URL,
  inputs: ReadonlyArray<unknown>
): Promise<ReadonlyArray<Result>> => {
  const children = inputs.map(() => fork(module, { execArgv: [...getNodeOptions()] }))
  try {
    await Promise.all(children.map(nextMessage))
    return await Promise.all(
      children.map(async (child, index) => {
        const reply = nextMessage(child)
        child.send({ _tag: "start", input: inputs[index] } satisfies Message)
        const message = await reply
        if (message._tag === "done") return message.result as Result
        throw new Error(message._tag === "failed" ? message.error : `Unexpected message from a worker: ${message._tag}`)
      })
    )
  } finally {
    for (const child of children) child.kill("SIGKILL")
  }
}

/** Runs `work` with the input of this process and sends its result to `runWorkers`. */
export const runAsWorker = <Input>(work: (input: Input) => Promise<unknown>): void => {
  const send = (message: Message) => process.send?.(message)
  process.once("message", (message: Message) => {
    if (message._tag !== "start") return
    work(message.input as Input).then(
      (result) => send({ _tag: "done", result }),
      (error) => send({ _tag: "failed", error: String(error?.stack ?? error) })
    )
  })
  send({ _tag: "ready" })
}
