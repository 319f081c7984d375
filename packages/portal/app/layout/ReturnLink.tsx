import { returnUrl } from "../session/session.ts"
import { toWebUrl } from "./toWebUrl.ts"

/** The link back to where the customer came from, if the host has said where that is. */
export const ReturnLink = ({
  children,
  isButton = false
}: {
  readonly children: string
  readonly isButton?: boolean
}) => {
  const url = toWebUrl(returnUrl.value)
  if (url === undefined) return null
  return (
    <a class={isButton ? "button primary" : "return-link"} href={url}>
      {children}
    </a>
  )
}
