import type { EventJson } from "../../api/types.ts"
import { getSubjectLink, getSubjectName } from "./findSubject.ts"

/** What an event is about, with a link to its page if it is known. */
export const Subject = ({ event }: { readonly event: EventJson }) => {
  const link = getSubjectLink(event)
  const name = getSubjectName(event)
  return (
    <span class="wide-cell">
      <span class="hint">{event.subject.type.replace("_", " ")}</span>{" "}
      {link === undefined ? <span>{name}</span> : <a href={link}>{name}</a>}
    </span>
  )
}
