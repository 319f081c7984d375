import { useState } from "preact/hooks"
import { find, get, toPath } from "../api/request.ts"
import type {
  ConsumerJson,
  DeploymentJson,
  MeteringBucketJson,
  NamedJson,
  PageJson,
  SubscriptionJson
} from "../api/types.ts"
import { Button } from "../components/Button.tsx"
import { Dialog } from "../components/Dialog.tsx"
import { TextField } from "../components/fields.tsx"
import { ProblemNotice } from "../components/ProblemNotice.tsx"
import { useAction } from "../data/useAction.ts"
import { linkTo } from "../routing/router.ts"

interface Result {
  readonly label: string
  readonly link: string
}

/** How many key buckets and metering buckets are searched. */
const maxBuckets = 100

const findConsumers = async (account: string, name: string): Promise<ReadonlyArray<Result>> => {
  const root = toPath("/v1/accounts", account)
  const buckets = await get<PageJson<NamedJson>>(`${root}/key-buckets`, { limit: maxBuckets })
  const found = await Promise.all(
    buckets.data.map(async ({ name: bucket }) => {
      const consumer = await find<ConsumerJson>(toPath(`${root}/key-buckets`, bucket, "consumers", name)).catch(
        () => undefined
      )
      return (
        consumer && {
          label: `Consumer ${name} in ${bucket}`,
          link: linkTo(["accounts", account, "consumers", bucket, name])
        }
      )
    })
  )
  return found.filter((result) => result !== undefined)
}

const findSubscriptions = async (account: string, customerKey: string): Promise<ReadonlyArray<Result>> => {
  const buckets = await get<PageJson<MeteringBucketJson>>("/v1/metering", { accountName: account, limit: maxBuckets })
  const found = await Promise.all(
    buckets.data.map(async ({ id, name }) => {
      const page = await get<PageJson<SubscriptionJson>>(toPath("/v1/metering", id, "subscriptions"), {
        customerKey,
        limit: 5
      })
      return page.data.map((subscription) => ({
        label: `Subscription of ${customerKey} in ${name ?? id} (${subscription.status})`,
        link: linkTo(["accounts", account, "metering", id, "subscriptions", subscription.id])
      }))
    })
  )
  return found.flat()
}

const findDeployment = async (account: string, name: string): Promise<ReadonlyArray<Result>> => {
  const deployment = await find<DeploymentJson>(toPath("/v1/deployments", name)).catch(() => undefined)
  return deployment === undefined
    ? []
    : [
        {
          label: `Deployment ${name}`,
          link: linkTo(["accounts", account, "deployments", deployment.projectName, name])
        }
      ]
}

/** Finds consumers, subscriptions and deployments by their exact names. */
export const SearchDialog = ({
  account,
  onClose
}: {
  readonly account: string | undefined
  readonly onClose: () => void
}) => {
  const [name, setName] = useState("")
  const [results, setResults] = useState<ReadonlyArray<Result>>()
  const search = useAction(async () => {
    const text = name.trim()
    if (text === "" || account === undefined) return
    const found = await Promise.all([
      findConsumers(account, text),
      findSubscriptions(account, text),
      findDeployment(account, text)
    ])
    setResults(found.flat())
  })
  return (
    <Dialog title="Search" onClose={onClose}>
      {account === undefined ? (
        <p>Open an account first: names are searched in one account.</p>
      ) : (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void search.run()
          }}
        >
          <TextField
            label="Exact name"
            hint="Of a consumer, the customer key of a subscription, or a deployment"
            type="search"
            value={name}
            onInput={(value) => {
              setName(value)
              setResults(undefined)
            }}
            autoFocus
            autoComplete="off"
          />
          {search.problem !== undefined && <ProblemNotice problem={search.problem} />}
          <div role="status">
            {results?.length === 0 && <p>Nothing in this account has exactly this name.</p>}
            {results !== undefined && results.length > 0 && (
              <ul class="search-results">
                {results.map(({ label, link }) => (
                  <li key={link}>
                    <a href={link} onClick={onClose}>
                      {label}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </div>
          <div class="form-actions">
            <Button type="submit" kind="primary" isBusy={search.isRunning}>
              Search
            </Button>
            <Button onClick={onClose}>Close</Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}
