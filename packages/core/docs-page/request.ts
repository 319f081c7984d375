/**
 * A request as the user has filled it in, and the curl command that sends the same.
 */
import type { Entry, Parameter } from "./description.ts"

export interface Input {
  readonly parameter: Parameter
  readonly value: string
}

export interface PreparedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON as text; a file to upload. */
  readonly body: string | Blob | undefined
}

/** The pairs of a parameter that stands for several: one `name=value` on each line. */
const parsePairs = (text: string): ReadonlyArray<readonly [string, string]> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const mark = line.indexOf("=")
      return mark < 0 ? [line, ""] : [line.slice(0, mark).trim(), line.slice(mark + 1).trim()]
    })

const toPairs = ({ parameter, value }: Input): ReadonlyArray<readonly [string, string]> =>
  parameter.schema?.type === "object" ? parsePairs(value) : [[parameter.name, value]]

/** Builds the request below an address of the API; parameters without a value are left out. */
export const prepareRequest = (
  root: string,
  { method, path }: Entry,
  inputs: ReadonlyArray<Input>,
  content: { readonly type: string; readonly body: string | Blob } | undefined
): PreparedRequest => {
  const given = inputs.filter(({ value }) => value !== "")
  const inPlace = (place: string) => given.filter(({ parameter }) => parameter.in === place)
  const values = new Map(inPlace("path").map(({ parameter, value }) => [parameter.name, value]))
  const address = path.replace(/\{([^}]+)\}/g, (hole, name: string) => {
    const value = values.get(name)
    return value === undefined ? hole : encodeURIComponent(value)
  })
  const query = inPlace("query")
    .flatMap(toPairs)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&")
  const headers = Object.fromEntries(inPlace("header").map(({ parameter, value }) => [parameter.name, value]))
  return {
    method,
    url: `${root}${address}${query === "" ? "" : `?${query}`}`,
    headers: content === undefined ? headers : { ...headers, "Content-Type": content.type },
    body: content?.body
  }
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Writes the command for a POSIX shell. The token is read from a variable, so that it can be shared as it is. */
export const toCurl = ({ method, url, headers, body }: PreparedRequest, needsToken: boolean): string =>
  [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${quote(url)}`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOLLGATE_TOKEN"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(typeof body === "string" ? [`--data-binary ${quote(body)}`] : []),
    ...(body instanceof Blob ? ["--data-binary @source.tar.gz"] : [])
  ].join(" \\\n  ")
