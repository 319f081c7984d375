import type { EventJson } from "../../api/types.ts"
import { getSubjectLink } from "./findSubject.ts"

/** What an event is about, with a link to its page if it is known. */
export const Subject = ({ event }: { readonly event: EventJson }) => {
  const { type, id, name } = event.subject
  const link = getSubjectLink(event)
  return (
    <span class="wide-cell">
      <span class="hint">{type.replace("_", " ")}</span>{" "}
      {link === undefined ? <span>{name ?? id}</span> : <a href={link}>{name ?? id}</a>}
    </span>
  )
}
