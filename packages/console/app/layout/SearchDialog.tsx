import { useRef, useState } from "preact/hooks"
import { isConsumerName } from "../api/consumerName.ts"
import { get, toPath } from "../api/request.ts"
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
  if (!isConsumerName(name)) return []
  const root = toPath("/v1/accounts", account, "key-buckets")
  const buckets = await get<PageJson<NamedJson>>(root, { limit: maxBuckets })
  const found = await Promise.all(
    buckets.data.map(async ({ name: bucket }) => {
      const { total } = await get<PageJson<ConsumerJson>>(toPath(root, bucket, "consumers"), { name })
      return total === 0
        ? []
        : [{ label: `Consumer ${name} in ${bucket}`, link: linkTo(["accounts", account, "consumers", bucket, name]) }]
    })
  )
  return found.flat()
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

/** How the names of a project's deployments begin. */
const toDeploymentPrefix = (projectName: string): string => projectName.toLowerCase().replace(/[^a-z0-9]+/g, "-")

const findProjects = async (account: string, name: string): Promise<ReadonlyArray<Result>> => {
  const root = toPath("/v1/accounts", account, "projects")
  const projects = await get<PageJson<NamedJson>>(root)
  const matches = projects.data.filter((project) => name.startsWith(toDeploymentPrefix(project.name)))
  const deployments = await Promise.all(
    matches.slice(0, maxBuckets).map(async (project) => {
      const { data } = await get<PageJson<DeploymentJson>>(toPath(root, project.name, "deployments"))
      return data
        .filter((deployment) => deployment.name === name)
        .map(() => ({
          label: `Deployment ${name}`,
          link: linkTo(["accounts", account, "deployments", project.name, name])
        }))
    })
  )
  return [
    ...projects.data
      .filter((project) => project.name === name)
      .map(() => ({ label: `Project ${name}`, link: linkTo(["accounts", account, "deployments", name]) })),
    ...deployments.flat()
  ]
}

/** Finds consumers, subscriptions, projects and deployments by their exact names. */
export const SearchDialog = ({
  account,
  onClose
}: {
  readonly account: string | undefined
  readonly onClose: () => void
}) => {
  const [name, setName] = useState("")
  const [results, setResults] = useState<ReadonlyArray<Result>>()
  const currentName = useRef("")
  currentName.current = name.trim()
  const search = useAction(async () => {
    const text = name.trim()
    if (text === "" || account === undefined) return
    const found = await Promise.all([
      findConsumers(account, text),
      findSubscriptions(account, text),
      findProjects(account, text)
    ])
    // Results for a name that is no longer in the field would seem to be those of the other.
    if (currentName.current === text) setResults(found.flat())
  })
  return (
    <Dialog title="Search" onClose={onClose}>
      {account === undefined ? (
        <>
          <p>Open an account first: names are searched in one account.</p>
          <div class="form-actions">
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
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
            hint="Of a consumer, a project or a deployment, or the customer key of a subscription"
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
