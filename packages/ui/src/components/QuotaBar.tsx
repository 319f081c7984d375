import { formatCount, formatShare } from "../format/numbers.ts"
import { fill, words } from "../words.ts"

/** How much of a quota is used. A maximum of 0 allows nothing, so it is used up; without `max` there is no limit. */
const getShare = (used: number, max: number | undefined): number => (max === undefined ? 0 : max === 0 ? 1 : used / max)

export const QuotaBar = ({
  label,
  used,
  max
}: {
  readonly label: string
  readonly used: number
  readonly max?: number | undefined
}) => {
  const share = getShare(used, max)
  const state = share >= 1 ? "full" : share >= 0.8 ? "near" : ""
  return (
    <div class={`quota ${state}`}>
      <span class="quota-label">{label}</span>
      {max === undefined ? (
        <span />
      ) : (
        <meter
          min={0}
          max={1}
          low={0.8}
          high={0.999}
          optimum={0}
          value={Math.min(1, share)}
          aria-label={fill(words.shareUsed, { label, share: formatShare(share) })}
        />
      )}
      <span class="quota-numbers">
        {max === undefined ? formatCount(used) : fill(words.share, { used: formatCount(used), max: formatCount(max) })}
      </span>
    </div>
  )
}
