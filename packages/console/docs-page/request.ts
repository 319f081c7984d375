/**
 * Builds a request from the form, and the equivalent curl command.
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
  /** A string for JSON, a Blob for a file to upload. */
  readonly body: string | Blob | undefined
}

/** Parses a parameter of type object: one `name=value` pair per line. */
const parsePairs = (text: string): ReadonlyArray<readonly [string, string]> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const separator = line.indexOf("=")
      return separator < 0 ? [line, ""] : [line.slice(0, separator).trim(), line.slice(separator + 1).trim()]
    })

const toPairs = ({ parameter, value }: Input): ReadonlyArray<readonly [string, string]> =>
  parameter.schema?.type === "object" ? parsePairs(value) : [[parameter.name, value]]

/** Builds the request. Parameters without a value are omitted. */
export const prepareRequest = (
  baseUrl: string,
  { method, path }: Entry,
  inputs: ReadonlyArray<Input>,
  content: { readonly type: string; readonly body: string | Blob } | undefined
): PreparedRequest => {
  const filled = inputs.filter(({ value }) => value !== "")
  const getInputs = (location: string) => filled.filter(({ parameter }) => parameter.in === location)
  const values = new Map(getInputs("path").map(({ parameter, value }) => [parameter.name, value]))
  const expandedPath = path.replace(/\{([^}]+)\}/g, (placeholder, name: string) => {
    const value = values.get(name)
    return value === undefined ? placeholder : encodeURIComponent(value)
  })
  const query = getInputs("query")
    .flatMap(toPairs)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&")
  const headers = Object.fromEntries(getInputs("header").map(({ parameter, value }) => [parameter.name, value]))
  return {
    method,
    url: `${baseUrl}${expandedPath}${query === "" ? "" : `?${query}`}`,
    headers: content === undefined ? headers : { ...headers, "Content-Type": content.type },
    body: content?.body
  }
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Formats a curl command for a POSIX shell. The token comes from a variable, so that the command is safe to share. */
export const toCurl = ({ method, url, headers, body }: PreparedRequest, needsToken: boolean): string =>
  [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${quote(url)}`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOLLGATE_TOKEN"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(typeof body === "string" ? [`--data-binary ${quote(body)}`] : []),
    ...(body instanceof Blob ? ["--data-binary @source.tar.gz"] : [])
  ].join(" \\\n  ")
