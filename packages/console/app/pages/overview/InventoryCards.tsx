import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import type { ComponentChildren } from "preact"
import { linkTo } from "../../routing/router.ts"
import { linkToBucket, linkToBuckets } from "../metering/meteringAddresses.ts"
import type { Inventory } from "./inventory.ts"

const Card = ({
  title,
  link,
  count,
  children
}: {
  readonly title: string
  readonly link: string
  readonly count: number
  readonly children?: ComponentChildren
}) => (
  <div class="card">
    <a href={link}>{title}</a>
    <strong>
      <a class="plain-link" href={link} aria-label={`${formatCount(count)} ${title}`}>
        {formatCount(count)}
      </a>
    </strong>
    {children}
  </div>
)

const sum = (counts: ReadonlyArray<number>): number => counts.reduce((total, count) => total + count, 0)

/** Says that only some buckets were counted. */
const Rest = ({ shown, total, noun }: { readonly shown: number; readonly total: number; readonly noun: string }) =>
  total > shown ? (
    <p class="hint">
      Counted in the first {formatQuantity(shown, noun)} of {formatCount(total)}.
    </p>
  ) : null

/** What exists, each with a link to its page. */
export const InventoryCards = ({ account, inventory }: { readonly account: string; readonly inventory: Inventory }) => {
  const { keyBuckets, meteringBuckets, projects, webhooks } = inventory
  const toLink = (...path: ReadonlyArray<string>): string => linkTo(["accounts", account, ...path])
  const disabled = webhooks?.first.filter(({ state }) => state === "disabled").length ?? 0
  return (
    <div class="cards inventory">
      <Card
        title="Consumers"
        link={toLink("consumers")}
        count={sum(keyBuckets.first.map(({ consumers }) => consumers))}
      >
        <ul class="card-list">
          {keyBuckets.first.map(({ name, consumers }) => (
            <li key={name}>
              <a href={toLink("consumers", name)}>
                {name} {formatCount(consumers)}
              </a>
            </li>
          ))}
        </ul>
        <Rest shown={keyBuckets.first.length} total={keyBuckets.total} noun="API" />
      </Card>
      <Card
        title="Subscriptions"
        link={toLink("metering")}
        count={sum(meteringBuckets.first.map(({ subscriptions }) => subscriptions))}
      >
        <ul class="card-list">
          {meteringBuckets.first.map(({ id, name, plans, subscriptions }) => (
            <li key={id}>
              <a href={linkToBucket(account, id, { tab: "subscriptions" })}>
                {name} {formatCount(subscriptions)}
              </a>
              , <a href={linkToBucket(account, id)}>{formatQuantity(plans, "plan")}</a>
            </li>
          ))}
        </ul>
        <Rest shown={meteringBuckets.first.length} total={meteringBuckets.total} noun="metering bucket" />
      </Card>
      <Card title="Plans" link={toLink("metering")} count={sum(meteringBuckets.first.map(({ plans }) => plans))} />
      {meteringBuckets.total > 1 && (
        <Card title="Metering buckets" link={linkToBuckets(account)} count={meteringBuckets.total} />
      )}
      {projects !== undefined && <Card title="Projects" link={toLink("deployments")} count={projects} />}
      {webhooks !== undefined && (
        <Card title="Webhooks" link={toLink("webhooks")} count={webhooks.total}>
          {disabled > 0 && (
            <p>
              <a href={toLink("webhooks")}>{formatCount(disabled)} disabled</a>
            </p>
          )}
        </Card>
      )}
    </div>
  )
}
