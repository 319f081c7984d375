/**
 * The same module in several real processes at once. They are held at the start until all are ready, so that they
 * really meet.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"

type Message =
  | { readonly _tag: "ready" }
  | { readonly _tag: "start"; readonly input: unknown }
  | { readonly _tag: "done"; readonly result: unknown }
  | { readonly _tag: "failed"; readonly error: string }

const next = async (child: ChildProcess): Promise<Message> => {
  const gone = once(child, "exit").then(([code, signal]) => {
    throw new Error(`A worker ended early, with ${signal ?? code}`)
  })
  const [message] = await Promise.race([once(child, "message"), gone])
  gone.catch(() => undefined)
  return message as Message
}

/** Runs a module that calls `worker` in so many processes, and gives their results. */
export const runWorkers = async <Result>(
  module: URL,
  inputs: ReadonlyArray<unknown>
): Promise<ReadonlyArray<Result>> => {
  const children = inputs.map(() => fork(module, { execArgv: ["--conditions=source"] }))
  try {
    await Promise.all(children.map(next))
    return await Promise.all(
      children.map(async (child, index) => {
        const answer = next(child)
        child.send({ _tag: "start", input: inputs[index] } satisfies Message)
        const message = await answer
        if (message._tag === "done") return message.result as Result
        throw new Error(message._tag === "failed" ? message.error : "A worker spoke out of turn")
      })
    )
  } finally {
    for (const child of children) child.kill("SIGKILL")
  }
}

/** What a worker's module does with its input. */
export const worker = <Input>(work: (input: Input) => Promise<unknown>): void => {
  const tell = (message: Message) => process.send?.(message)
  process.once("message", (message: Message) => {
    if (message._tag !== "start") return
    work(message.input as Input).then(
      (result) => tell({ _tag: "done", result }),
      (error) => tell({ _tag: "failed", error: String(error?.stack ?? error) })
    )
  })
  tell({ _tag: "ready" })
}
