/**
 * The curl commands that the server prints and its page shows.
 */
import { account, bucket, consumer } from "./demo.ts"

/** A value to put into the commands, or a shell variable such as `$TOKEN`. */
const makeHeader = (value: string): string =>
  value.startsWith("$") ? `"Authorization: Bearer ${value}"` : `'Authorization: Bearer ${value}'`

const makeConsumersUrl = (url: string): string => `${url}/v1/accounts/${account}/key-buckets/${bucket}/consumers`

/** Lists the consumers, creates one with an API key, and calls the protected route. */
export const makeCommands = (url: string, token = "$TOKEN", key = "$KEY"): ReadonlyArray<string> => [
  `curl -s -H ${makeHeader(token)} '${makeConsumersUrl(url)}'`,
  `curl -s -H ${makeHeader(token)} '${makeConsumersUrl(url)}?with-api-key=true' -d '{"name":"bob"}'`,
  `curl -s -H ${makeHeader(key)} '${url}/hello'`
]

/** Creates another API key of the demo consumer, and sets KEY to it. */
export const makeKeyCommand = (url: string, token = "$TOKEN"): string =>
  `KEY=$(curl -s -H ${makeHeader(token)} '${makeConsumersUrl(url)}/${consumer}/keys' -d '{}' | grep -o 'tg_[^"]*')`
