import { Plot } from "@tollgate/ui/components/Plot.tsx"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import type { OutcomesJson } from "../../api/types.ts"
import { addOutcomes, toSeries } from "./outcomes.ts"
import type { RefusalReason } from "./reasons.ts"
import "../../styles/activity.css"

const Count = ({
  link,
  count,
  what
}: {
  readonly link?: string | undefined
  readonly count: number
  readonly what: string
}) => {
  const text = (
    <>
      <strong>{formatCount(count)}</strong> {what}
    </>
  )
  return <li>{link === undefined ? text : <a href={link}>{text}</a>}</li>
}

/** Requests by outcome: totals by reason, each with a link to the refusals, and a plot. */
export const OutcomePlot = ({
  title,
  outcomes,
  linkToReason,
  linkToAllowed
}: {
  readonly title: string
  readonly outcomes: OutcomesJson
  /** Where the refusals of a reason, or all, are listed, if that is another page. */
  readonly linkToReason?: (reason?: RefusalReason) => string
  /** Where those are listed who made the requests. */
  readonly linkToAllowed?: string
}) => {
  const { allowed, refused, reasons } = addOutcomes(outcomes)
  if (allowed + refused === 0)
    return <p class="hint">{title}: none. Requests appear here within ten seconds of their decision.</p>
  return (
    <>
      <ul class="outcomes" aria-label={`${title}, by outcome`}>
        <Count link={linkToAllowed} count={allowed} what="allowed" />
        <Count link={linkToReason?.()} count={refused} what="refused" />
        {reasons.map(([reason, count]) => (
          <Count key={reason} link={linkToReason?.(reason)} count={count} what={reason} />
        ))}
      </ul>
      <Plot
        title={title}
        step={outcomes.step}
        times={outcomes.data.map(({ start }) => start)}
        series={toSeries(outcomes)}
      />
    </>
  )
}
