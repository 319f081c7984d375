import { formatCount } from "../format/numbers.ts"

/** How much of a quota is used. `max` may be missing: then there is no limit. */
export const QuotaBar = ({
  label,
  used,
  max
}: {
  readonly label: string
  readonly used: number
  readonly max?: number | undefined
}) => {
  const share = max === undefined || max === 0 ? 0 : Math.min(1, used / max)
  return (
    <div class={`quota ${share >= 1 ? "full" : share >= 0.8 ? "near" : ""}`}>
      <span class="quota-label">{label}</span>
      {max !== undefined && <meter min={0} max={1} high={0.8} value={share} aria-label={label} />}
      <span class="quota-numbers">
        {max === undefined ? formatCount(used) : `${formatCount(used)} of ${formatCount(max)}`}
      </span>
    </div>
  )
}
