import { formatRelativeTime, formatTime } from "../format/time.ts"

/** A time as people say it, with the exact time on hover and for screen readers. */
export const Time = ({ value }: { readonly value: string }) => (
  <time dateTime={value} title={formatTime(value)}>
    {formatRelativeTime(value)}
  </time>
)
