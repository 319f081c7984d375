import { Button, LinkButton } from "@tollgate/ui/components/Button.tsx"
import { CodeBlock } from "@tollgate/ui/components/CodeBlock.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { formatTime } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { EventJson } from "../../api/types.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { describeActor } from "./describeActor.ts"
import { canFind, findSubject, getSubjectLink, isGone } from "./findSubject.ts"

/** Everything that an event tells. */
export const EventDialog = ({ event, onClose }: { readonly event: EventJson; readonly onClose: () => void }) => {
  const [isMissing, setIsMissing] = useState(false)
  const search = useAction(async () => {
    const link = await findSubject(event)
    setIsMissing(link === undefined)
    if (link === undefined) return
    onClose()
    goTo(link)
  })
  const link = getSubjectLink(event)
  const json = JSON.stringify(event.data, undefined, 2)
  return (
    <Dialog title={event.type} onClose={onClose}>
      <DefinitionList
        items={[
          ["Id", <code key="id">{event.id}</code>],
          ["When", formatTime(event.occurredOn)],
          ["By", describeActor(event.actor)],
          ["About", `${event.subject.type} ${event.subject.name ?? ""}`],
          ["Its id", <code key="subject">{event.subject.id}</code>]
        ]}
      />
      <CodeBlock label="Data" text={json} />
      {isMissing && <Notice>It is not in the first 100 buckets of this account, or it has been deleted.</Notice>}
      {search.problem !== undefined && <ProblemNotice problem={search.problem} />}
      <div class="form-actions">
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
        {link !== undefined && (
          <LinkButton href={link} onClick={onClose}>
            Open the {event.subject.type.replace("_", " ")}
          </LinkButton>
        )}
        {link === undefined && canFind(event) && (
          <Button onClick={() => void search.run()} isBusy={search.isRunning}>
            Open the {event.subject.type}
          </Button>
        )}
        <Button
          onClick={() => {
            onClose()
            goTo(linkTo(["accounts", event.accountName, "events"], { subject: event.subject.id }))
          }}
        >
          All its events
        </Button>
        <CopyButton text={json} label="Copy the data" />
      </div>
      {isGone(event) && <p class="hint">It was deleted; the data is what it was last.</p>}
    </Dialog>
  )
}
