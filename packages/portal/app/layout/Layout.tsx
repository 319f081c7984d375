import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Toasts } from "@tollgate/ui/components/toasts.tsx"
import { connection } from "@tollgate/ui/session/connection.ts"
import { fill } from "@tollgate/ui/words.ts"
import { CallSection } from "../call/CallSection.tsx"
import { KeysSection } from "../keys/KeysSection.tsx"
import { PlanSection } from "../plan/PlanSection.tsx"
import { RefusalsSection } from "../refusals/RefusalsSection.tsx"
import { may } from "../session/session.ts"
import { settings } from "../session/settings.ts"
import { texts } from "../texts/texts.ts"
import type { PortalHomeJson } from "../types.ts"
import { AllowanceSection } from "../usage/AllowanceSection.tsx"
import { UsageSection } from "../usage/UsageSection.tsx"
import { Brand } from "./Brand.tsx"
import { ReturnLink } from "./ReturnLink.tsx"
import { ThemeSelect } from "./ThemeSelect.tsx"

/** The sections that the session may see. */
const findSections = ({ hasUsage, maxKeys, canChangePlan }: PortalHomeJson) => {
  const canRead = may("usage:read")
  const hasPlan = hasUsage && (canRead || may("plan:change"))
  return [
    ...(hasPlan
      ? [
          {
            id: "plan",
            title: texts.plan,
            view: <PlanSection canChange={may("plan:change")} canOrder={canChangePlan} />
          }
        ]
      : []),
    ...(canRead && hasUsage ? [{ id: "allowance", title: texts.allowance, view: <AllowanceSection /> }] : []),
    ...(may("keys:read")
      ? [{ id: "keys", title: texts.keys, view: <KeysSection maxKeys={maxKeys} canWrite={may("keys:write")} /> }]
      : []),
    ...(canRead && hasUsage ? [{ id: "usage", title: texts.usage, view: <UsageSection /> }] : []),
    ...(canRead ? [{ id: "refusals", title: texts.refusals, view: <RefusalsSection /> }] : []),
    { id: "call", title: texts.call, view: <CallSection /> }
  ]
}

export const Layout = ({ about }: { readonly about: PortalHomeJson }) => {
  const sections = findSections(about)
  return (
    <div class="portal">
      <a class="skip-link" href="#main">
        {texts.skip}
      </a>
      <header>
        <Brand />
        <h1>{texts.title}</h1>
        <p class="hint">{fill(texts.signedInAs, { name: about.name ?? about.consumerName })}</p>
        <nav aria-label={texts.sections}>
          {sections.map(({ id, title }) => (
            <a key={id} href={`#${id}`}>
              {title}
            </a>
          ))}
        </nav>
        <div class="portal-tools">
          <ReturnLink>
            {settings.name === undefined ? texts.back : fill(texts.backTo, { name: settings.name })}
          </ReturnLink>
          <ThemeSelect />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {connection.isLost.value && <Notice kind="warning">{texts.offline}</Notice>}
        {sections.map(({ id, view }) => (
          <div key={id} id={id} class="panel">
            {view}
          </div>
        ))}
      </main>
      <Toasts />
    </div>
  )
}
