import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { fill } from "@tollgate/ui/words.ts"
import { toWebUrl } from "../layout/toWebUrl.ts"
import { texts } from "../texts/texts.ts"
import type { OfferJson } from "../types.ts"

export interface OfferProps {
  readonly offer: OfferJson
  readonly canOrder: boolean
  readonly onChoose: () => void
}

const OfferAction = ({ offer: { name, link, isCurrent }, canOrder, onChoose }: OfferProps) => {
  if (isCurrent === true) return <Badge tone="good">{texts.planCurrent}</Badge>
  const url = toWebUrl(link)
  if (url !== undefined) {
    return (
      <a class="button plain" href={url} target="_blank" rel="noopener noreferrer">
        {fill(texts.planSee, { plan: name })}
      </a>
    )
  }
  return canOrder ? <Button onClick={onChoose}>{fill(texts.planChoose, { plan: name })}</Button> : null
}

/** A plan that is offered. */
export const Offer = (props: OfferProps) => (
  <li class="card">
    <h3>{props.offer.name}</h3>
    {props.offer.price !== undefined && <p>{props.offer.price}</p>}
    {props.offer.description !== undefined && <p class="hint">{props.offer.description}</p>}
    <OfferAction {...props} />
  </li>
)
