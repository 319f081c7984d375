import { formatDate, formatRelativeTime, formatTime } from "../format/time.ts"

/** A time with its date, and as people say it; with the exact time on hover and for screen readers. */
export const Time = ({ value }: { readonly value: string }) => (
  <time dateTime={value} title={formatTime(value)}>
    {formatDate(value)}, <span class="hint">{formatRelativeTime(value)}</span>
  </time>
)
