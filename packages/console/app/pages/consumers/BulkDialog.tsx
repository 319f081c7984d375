import { InputError, toProblem } from "@tollgate/ui/api/ApiError.ts"
import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { useRef, useState } from "preact/hooks"
import type { ConsumerJson } from "../../api/types.ts"
import { parseTag } from "./consumerFilter.ts"
import { type BucketParams, toConsumerPath } from "./paths.ts"

/** What can be changed in many consumers at once. */
export type BulkChange = "stop" | "resume" | "tag"

interface Failure {
  readonly name: string
  readonly why: string
}

const texts = {
  stop: {
    title: "Stop",
    done: "Stopped",
    hint: "Requests with any of their keys are refused at once, until you let them call again. Nothing is removed."
  },
  resume: { title: "Let call again:", done: "May call again:", hint: "Their keys work again at once." },
  tag: { title: "Tag", done: "Tagged", hint: "A tag with the same name is replaced; the other tags stay." }
}

/** Adds a tag to those that a consumer has now, and refuses to overwrite a change that somebody makes meanwhile. */
const addTag = async (path: string, [name, value]: readonly [string, string]): Promise<void> => {
  const { value: consumer, version } = await request<ConsumerJson>("GET", path)
  await request("PATCH", path, { version, body: { tags: { ...consumer.tags, [name]: value } } })
}

export interface BulkDialogProps {
  readonly params: BucketParams
  readonly change: BulkChange
  readonly names: ReadonlyArray<string>
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** Changes consumers one after the other. Those that fail are listed, and can be tried again. */
export const BulkDialog = ({ params, change, names, onChanged, onClose }: BulkDialogProps) => {
  const { title, done, hint } = texts[change]
  const [tag, setTag] = useState("")
  const [waiting, setWaiting] = useState(names)
  const [finished, setFinished] = useState(0)
  const [failures, setFailures] = useState<ReadonlyArray<Failure>>([])
  const isCanceled = useRef(false)
  const run = useAction(async () => {
    const parsed = parseTag(tag)
    if (change === "tag" && parsed === undefined)
      throw new InputError("This is not a tag", "Write name=value, as in plan=pro.")
    const failed: Array<Failure> = []
    setFinished(0)
    for (const [index, consumer] of waiting.entries()) {
      if (isCanceled.current) break
      const path = toConsumerPath({ ...params, consumer })
      await (parsed !== undefined && change === "tag"
        ? addTag(path, parsed)
        : request("PATCH", path, { body: { disabled: change === "stop" } })
      ).catch((error: unknown) => failed.push({ name: consumer, why: toProblem(error).title }))
      setFinished(index + 1)
    }
    onChanged()
    setFailures(failed)
    setWaiting(failed.map(({ name }) => name))
    if (failed.length > 0 || isCanceled.current) return
    showToast(`${done} ${formatQuantity(waiting.length, "consumer")}`)
    onClose()
  })
  const close = (): void => {
    isCanceled.current = true
    onClose()
  }
  return (
    <Dialog title={`${title} ${formatQuantity(names.length, "consumer")}`} onClose={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void run.run()
        }}
      >
        <p>{hint}</p>
        {change === "tag" && (
          <TextField
            label="Tag to add"
            placeholder="name=value"
            value={tag}
            onInput={setTag}
            autoFocus
            autoComplete="off"
          />
        )}
        {run.isRunning && (
          <p role="status">
            {formatCount(finished)} of {formatCount(waiting.length)} done
          </p>
        )}
        {run.problem !== undefined && <ProblemNotice problem={run.problem} />}
        {!run.isRunning && failures.length > 0 && (
          <Notice kind="error">
            {formatQuantity(failures.length, "consumer")} could not be changed; the others are.
            <ul>
              {failures.slice(0, 10).map(({ name, why }) => (
                <li key={name}>
                  {name}: {why}
                </li>
              ))}
            </ul>
          </Notice>
        )}
        <div class="form-actions">
          <Button type="submit" kind={change === "stop" ? "danger" : "primary"} isBusy={run.isRunning}>
            {failures.length > 0
              ? "Try again"
              : change === "stop"
                ? "Stop them"
                : change === "tag"
                  ? "Add tag"
                  : "Let them call"}
          </Button>
          <Button onClick={close}>{run.isRunning ? "Stop here" : "Cancel"}</Button>
        </div>
      </form>
    </Dialog>
  )
}
