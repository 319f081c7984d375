import { get, toPath } from "@tollgate/ui/api/request.ts"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { ConsumerJson, FoundJson, NamedJson, PageJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"

/** In how many key buckets consumers are searched, and how long a text a search takes. */
const [maxBuckets, minLength, maxLength] = [5, 2, 32]

interface Found {
  readonly bucket: string
  readonly name: string
}

const findConsumers = async (
  account: string,
  customerKey: string,
  signal: AbortSignal
): Promise<ReadonlyArray<Found>> => {
  const characters = Array.from(customerKey)
  if (characters.length < minLength) return []
  const search = characters.slice(0, maxLength).join("")
  const root = toPath("/v1/accounts", account, "key-buckets")
  const buckets = await get<PageJson<NamedJson>>(root, { limit: maxBuckets }, signal)
  const found = await Promise.all(
    buckets.data.map(async ({ name: bucket }) => {
      const { data } = await get<FoundJson<ConsumerJson>>(`${toPath(root, bucket)}/consumers`, { search }, signal)
      return data
        .filter((consumer) => (consumer.customerKey ?? consumer.name) === customerKey)
        .map(({ name }) => ({ bucket, name }))
    })
  )
  return found.flat()
}

/** The consumers whose requests count on the subscriptions of a customer, with links to their pages. */
export const ConsumersOfCustomer = ({
  account,
  customerKey
}: {
  readonly account: string
  readonly customerKey: string
}) => {
  const consumers = useQuery(`consumers of ${account} ${customerKey}`, (signal) =>
    findConsumers(account, customerKey, signal)
  )
  return (
    <QueryView query={consumers}>
      {(consumers) =>
        consumers.length === 0 ? (
          <span class="hint">none</span>
        ) : (
          <span class="badges">
            {consumers.map(({ bucket, name }) => (
              <a key={`${bucket} ${name}`} href={linkTo(["accounts", account, "consumers", bucket, name])}>
                {name} in {bucket}
              </a>
            ))}
          </span>
        )
      }
    </QueryView>
  )
}
