import { formatCount } from "../format/numbers.ts"
import { Button } from "./Button.tsx"

export interface PagerProps {
  readonly offset: number
  readonly limit: number
  readonly total: number
  /** How many items the page has: of large ones, fewer than its limit. */
  readonly shown: number
  readonly onChange: (offset: number) => void
}

export const Pager = ({ offset, limit, total, shown, onChange }: PagerProps) => {
  if (total <= shown && offset === 0) return null
  const first = Math.min(offset + 1, total)
  const last = Math.min(offset + shown, total)
  const lastOffset = Math.max(0, Math.floor((total - 1) / limit) * limit)
  return (
    <nav class="pager" aria-label="Pages">
      <Button isSmall disabled={offset === 0} onClick={() => onChange(0)}>
        First
      </Button>
      <Button
        isSmall
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, Math.min(offset - limit, lastOffset)))}
      >
        Previous
      </Button>
      <span>
        {formatCount(first)}–{formatCount(last)} of {formatCount(total)}
      </span>
      <Button isSmall disabled={last >= total} onClick={() => onChange(last)}>
        Next
      </Button>
      <Button isSmall disabled={last >= total} onClick={() => onChange(lastOffset)}>
        Last
      </Button>
    </nav>
  )
}
