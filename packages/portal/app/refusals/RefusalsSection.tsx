import { get } from "@tollgate/ui/api/request.ts"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { formatRelativeTime } from "@tollgate/ui/format/time.ts"
import { fill } from "@tollgate/ui/words.ts"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalRefusalsJson, RefusalJson } from "../types.ts"

const getText = (name: string): string | undefined =>
  Object.hasOwn(texts, name) ? texts[name as keyof typeof texts] : undefined

const getTitle = (reason: string): string => getText(`refused.${reason}`) ?? texts["refused.other"]

const getHint = (reason: string): string => getText(`refused.${reason}.hint`) ?? texts["refused.other.hint"]

const describeCount = ({ count, today, lastOn }: RefusalJson): string =>
  fill(today > 0 ? texts.refusedToday : texts.refusedBefore, {
    count: formatCount(today),
    total: formatCount(count),
    time: formatRelativeTime(lastOn)
  })

/** Why requests of the customer were refused. */
export const RefusalsSection = () => {
  const refusals = useQuery("refusals", (signal) => get<PortalRefusalsJson>(toPortalPath("/refusals"), {}, signal))
  return (
    <Section title={texts.refusals}>
      <QueryView query={refusals}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="hint">{texts.refusalsNone}</p>
          ) : (
            <>
              <p class="hint">{texts.refusalsHint}</p>
              <ul class="rows">
                {data.map((refusal) => (
                  <li key={`${refusal.reason} ${refusal.limit} ${refusal.meter}`}>
                    <div class="row-text">
                      <p class="row-title">
                        <strong>{getTitle(refusal.reason)}</strong>
                      </p>
                      <p class="hint">{getHint(refusal.reason)}</p>
                    </div>
                    <span>{describeCount(refusal)}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryView>
    </Section>
  )
}
