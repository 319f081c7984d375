/** Finds anything in an account by a text, and refused requests by their id. */
import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { find, get, toPath } from "@tollgate/ui/api/request.ts"
import type { NamedJson, PageJson, RefusalPageJson, SearchResultsJson } from "../api/types.ts"
import { linkTo } from "../routing/router.ts"
import { may } from "../session/session.ts"

export interface SearchResult {
  readonly kind: string
  readonly label: string
  /** The field by which it was found, and where it is. */
  readonly hint: string
  readonly link: string
}

type Item = SearchResultsJson["data"][number]

/** In how many key buckets the log of decisions is searched. */
const maxBuckets = 5
/** The lengths of texts that the search takes. */
const [minLength, maxLength] = [2, 32]

const toLink = (account: string, { type, id, name = "", keyBucketName = "", meteringBucketId = "" }: Item): string => {
  const root = ["accounts", account]
  switch (type) {
    case "consumer":
    case "key":
      return linkTo([...root, "consumers", keyBucketName, name])
    case "customer":
      return linkTo([...root, "metering", meteringBucketId], { tab: "subscriptions", customerKey: id })
    case "subscription":
    case "plan":
      return linkTo([...root, "metering", meteringBucketId, `${type}s`, id])
    case "deployment":
      return linkTo([...root, "deployments", name.split("/", 1)[0] ?? "", id])
    case "token":
      return linkTo([...root, "people"])
    default:
      return linkTo([...root, "events"], { subject: id })
  }
}

const toResult = (account: string, item: Item): SearchResult => {
  const { type, id, name, keyBucketName, matched } = item
  return {
    kind: type,
    label: type === "key" ? `${id} of ${name}` : (name ?? id),
    hint: [matched, ...(keyBucketName === undefined ? [] : [`in ${keyBucketName}`])].join(", "),
    link: toLink(account, item)
  }
}

/** Whether a text has the form of a key or a token. A search is in the address of a request, where no secret belongs. */
const isLikeSecret = (text: string): boolean => /^[A-Za-z0-9]+_[A-Za-z0-9]{30,}_[A-Za-z0-9]{6}$/.test(text)

const findItems = async (account: string, text: string): Promise<ReadonlyArray<SearchResult>> => {
  const characters = Array.from(text)
  if (characters.length < minLength) return []
  const q = characters.slice(0, maxLength).join("")
  const { data } = await get<SearchResultsJson>(toPath("/v1/accounts", account, "search"), { q })
  return data.map((item) => toResult(account, item))
}

/** The page of a thing that has this id, if the search finds it. */
export const findLink = async (
  account: string,
  type: string,
  id: string,
  signal: AbortSignal
): Promise<string | undefined> => {
  const q = Array.from(id).slice(0, maxLength).join("")
  const { data } = await get<SearchResultsJson>(toPath("/v1/accounts", account, "search"), { q }, signal)
  const item = data.find((item) => item.type === type && item.id === id)
  return item && toLink(account, item)
}

const findRefusals = async (account: string, requestId: string): Promise<ReadonlyArray<SearchResult>> => {
  if (!may("decisions:read") || !may("consumers:read")) return []
  const root = toPath("/v1/accounts", account, "key-buckets")
  const buckets = await get<PageJson<NamedJson>>(root, { limit: maxBuckets })
  const found = await Promise.all(
    buckets.data.map(async ({ name: bucket }) => {
      const page = await find<RefusalPageJson>(toPath(root, bucket, "decisions"), { requestId, limit: 1 })
      return (page?.data ?? []).map(({ reason, consumerName }) => ({
        kind: "refused request",
        label: consumerName === undefined ? reason : `${reason}: ${consumerName}`,
        hint: `request id, in ${bucket}`,
        link: linkTo(["accounts", account, "refusals", bucket], { requestId })
      }))
    })
  )
  return found.flat()
}

/** The best first. */
export const findAnything = async (account: string, text: string): Promise<ReadonlyArray<SearchResult>> => {
  if (isLikeSecret(text))
    throw new InputError(
      "This is a key or a token",
      "It was not sent, because a search is in the logs of the server. Search for the last 4 characters of the key."
    )
  const [items, refusals] = await Promise.all([findItems(account, text), findRefusals(account, text)])
  return [...refusals, ...items]
}
