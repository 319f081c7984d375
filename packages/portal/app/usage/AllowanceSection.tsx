import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount, formatShare } from "@tollgate/ui/format/numbers.ts"
import { fill } from "@tollgate/ui/words.ts"
import { planRevision } from "../plan/planRevision.ts"
import { texts } from "../texts/texts.ts"
import type { MeterJson } from "../types.ts"
import { describeMeter } from "./describeMeter.ts"
import { getLabel, readMeters } from "./meters.ts"

/** Of all that there is in this period, allowance and credit: what is used of it. */
const getShare = ({ used, remaining, overage = 0 }: MeterJson): number =>
  overage > 0 || used + remaining === 0 ? 1 : used / (used + remaining)

const Allowance = ({ meter }: { readonly meter: MeterJson }) => {
  const share = getShare(meter)
  const label = getLabel(meter)
  const total = meter.used + meter.remaining - (meter.overage ?? 0)
  return (
    <li class="allowance">
      <p class="row-title">
        <strong>{label}</strong>
        <span class="allowance-left">{fill(texts.left, { left: formatCount(meter.remaining) })}</span>
      </p>
      <meter
        min={0}
        max={1}
        low={0.8}
        high={0.999}
        optimum={0}
        value={share}
        aria-label={fill(texts.shareUsed, { label, share: formatShare(share) })}
      />
      <p class="hint">
        {fill(texts.usedOf, { used: formatCount(meter.used), max: formatCount(total) })}. {describeMeter(meter)}
      </p>
    </li>
  )
}

/** What the customer may still use in this period. */
export const AllowanceSection = () => {
  const meters = useQuery(`meters ${planRevision.value}`, readMeters)
  return (
    <Section title={texts.allowance}>
      <QueryView query={meters}>
        {(data) =>
          data.length === 0 ? (
            <p class="hint">{texts.allowanceNone}</p>
          ) : (
            <ul class="rows">
              {data.map((meter) => (
                <Allowance key={meter.meter} meter={meter} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </Section>
  )
}
