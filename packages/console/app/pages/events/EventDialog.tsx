import { Button, LinkButton } from "@tollgate/ui/components/Button.tsx"
import { CodeBlock } from "@tollgate/ui/components/CodeBlock.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { formatTime } from "@tollgate/ui/format/time.ts"
import type { EventJson } from "../../api/types.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { describeActor } from "./describeActor.ts"
import { getSubjectLink, getSubjectName, isGone } from "./findSubject.ts"

/** Everything that an event tells. */
export const EventDialog = ({ event, onClose }: { readonly event: EventJson; readonly onClose: () => void }) => {
  const link = getSubjectLink(event)
  const json = JSON.stringify(event.data, undefined, 2)
  return (
    <Dialog title={event.type} onClose={onClose}>
      <DefinitionList
        items={[
          ["Id", <code key="id">{event.id}</code>],
          ["When", formatTime(event.occurredOn)],
          ["By", describeActor(event.actor)],
          ["About", `${event.subject.type.replace("_", " ")} ${getSubjectName(event)}`],
          ["Its id", <code key="subject">{event.subject.id}</code>]
        ]}
      />
      <CodeBlock label="Data" text={json} />
      <div class="form-actions">
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
        {link !== undefined && (
          <LinkButton href={link} onClick={onClose}>
            Open the {event.subject.type.replace("_", " ")}
          </LinkButton>
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
