/**
 * Calls the HTTP API with the token of the session. When the token has expired, it waits for a new one and repeats the request, so
 * that nothing that was entered is lost.
 */

import type { PageJson } from "@tollgate/core/client"
import { connection } from "../session/connection.ts"
import { credentials } from "../session/credentials.ts"
import { readServerClock } from "../session/serverClock.ts"
import { ApiError, InputError, toApiError, unreachableError } from "./ApiError.ts"

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface RequestOptions {
  readonly query?: Query | undefined
  readonly body?: unknown
  /** The version that the change is based on: the server refuses it with 412 if there is a newer one. */
  readonly version?: string | undefined
  /** Makes a repeated create harmless. */
  readonly idempotencyKey?: string | undefined
  readonly accept?: string | undefined
  /** Where a stream of events is resumed. */
  readonly lastEventId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Reply<A> {
  readonly value: A
  /** For `version` of a later change. */
  readonly version: string | undefined
  readonly location: string | undefined
}

type Method = "GET" | "POST" | "PATCH" | "DELETE"

/** The page is at `<prefix>/<app>/`, the API at `<prefix>/v1/`. */
const apiRoot = new URL("..", location.href.split("#", 1)[0])

export const toApiUrl = (path: string, query: Query = {}): URL => {
  const url = new URL(`.${path}`, apiRoot)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") url.searchParams.set(name, String(value))
  return url
}

/** No encoding keeps `.` and `..` from being resolved: they would lead to another resource. */
export const isSegment = (text: string): boolean => text !== "." && text !== ".."

/** Joins a path; each part after the first is one segment, whatever characters it has. */
export const toPath = (root: string, ...segments: ReadonlyArray<string>): string => {
  const wrong = segments.find((segment) => !isSegment(segment))
  if (wrong !== undefined) throw new InputError("There is no such name", `Nothing can have the name “${wrong}”.`)
  return [root, ...segments.map(encodeURIComponent)].join("/")
}

const send = async (method: Method, path: string, options: RequestOptions): Promise<Response> => {
  const { query, body, version, idempotencyKey, accept, lastEventId, signal } = options
  const response = await fetch(toApiUrl(path, query), {
    method,
    headers: {
      authorization: `Bearer ${credentials.getToken()}`,
      accept: accept ?? "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(version === undefined ? {} : { "if-match": version }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
    },
    credentials: "omit",
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal })
  }).catch((error) => {
    if (signal?.aborted) throw error
    connection.lost()
    throw unreachableError
  })
  connection.found()
  readServerClock(response)
  return response
}

/** Fails if the response is not a success. */
const sendAuthenticated = async (method: Method, path: string, options: RequestOptions): Promise<Response> => {
  for (;;) {
    const response = await send(method, path, options)
    if (response.ok) return response
    if (response.status !== 401 || !(await credentials.renew())) throw await toApiError(response)
  }
}

/** Opens a stream of events, whose body is read while it goes on. */
export const openStream = (path: string, options: Pick<RequestOptions, "lastEventId" | "signal">): Promise<Response> =>
  sendAuthenticated("GET", path, { ...options, accept: "text/event-stream" })

export const request = async <A>(method: Method, path: string, options: RequestOptions = {}): Promise<Reply<A>> => {
  const response = await sendAuthenticated(method, path, options)
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true
  const value = response.status === 204 ? undefined : isJson ? await response.json() : await response.text()
  return {
    value: value as A,
    version: response.headers.get("etag") ?? undefined,
    location: response.headers.get("location") ?? undefined
  }
}

/** Reads a resource. */
export const get = async <A>(path: string, query?: Query, signal?: AbortSignal): Promise<A> =>
  (await request<A>("GET", path, { query, signal })).value

/** Reads all items of a list. */
export const readAllPages = async <A>(path: string, signal?: AbortSignal): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for (let after: string | undefined, isLast = false; !isLast; isLast = after === undefined) {
    const { data, next } = await get<PageJson<A>>(path, { after }, signal)
    items.push(...data)
    after = next
  }
  return items
}

/** Reads a resource that may not exist. */
export const find = async <A>(path: string, query?: Query, signal?: AbortSignal): Promise<A | undefined> =>
  get<A>(path, query, signal).catch((error) => {
    if (error instanceof ApiError && error.problem.status === 404) return undefined
    throw error
  })
