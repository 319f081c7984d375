/** What is left of a meter, in sentences. */
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { formatDate } from "@tollgate/ui/format/time.ts"
import { fill } from "@tollgate/ui/words.ts"
import { texts } from "../texts/texts.ts"
import type { MeterJson } from "../types.ts"

export const describeMeter = (meter: MeterJson): string => {
  const { remaining, resetsOn, credit = 0, overage = 0, isSoftLimit = false } = meter
  const date = resetsOn === undefined ? undefined : formatDate(resetsOn)
  const isUsedUp = remaining === 0 && !isSoftLimit
  return [
    ...(isUsedUp ? [date === undefined ? texts.usedUpNoReset : fill(texts.usedUp, { date })] : []),
    ...(credit > 0 ? [fill(texts.credit, { count: formatCount(credit) })] : []),
    ...(overage > 0 ? [fill(texts.overage, { count: formatCount(overage) })] : []),
    ...(isSoftLimit ? [texts.softLimit] : []),
    ...(!isUsedUp && date !== undefined ? [fill(texts.resets, { date })] : [])
  ].join(" ")
}
