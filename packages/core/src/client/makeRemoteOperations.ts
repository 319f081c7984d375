/**
 * Calls operations of a Tollgate in another process, over its HTTP API.
 */

import { isTollgateError } from "@tollgate/store/internal"
import { Context, Effect, Record, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import type { AnyRequest } from "../api/AnyRequest.ts"
import { type CallerScope, checkOwner, type Owners, type ResourceOwner, toScopeHeaders } from "../api/checkOwner.ts"
import type { DeclaredApi } from "../api/declareApi.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import { findOperation } from "../api/findOperation.ts"
import type { CallOperation } from "../promises/makeMethods.ts"
import { ServerUnreachable } from "./ServerUnreachable.ts"

const responseTimeout = "30 seconds"

/** The account and project of the handle that is called. */
const CurrentScope = Context.Reference<CallerScope>("@tollgate/core/client/CurrentScope", { defaultValue: () => ({}) })

/** The errors for resources of other accounts, by the kind of resource. */
type Owned = Readonly<Record<string, ResourceOwner["notFound"]>>

/** The server looks the owner up, and compares it with the headers. */
const ownedBy = (owned: Owned, scope: CallerScope): Owners =>
  Record.map(owned, (notFound) => ({ find: () => Effect.succeed(scope), notFound }))

/** Errors that the server declares pass as they are; every other failure means that there is no usable response. */
const toClientError = (isReadOnly: boolean) => (error: unknown) =>
  isTollgateError(error)
    ? error
    : new ServerUnreachable({ outcome: isReadOnly ? "not-applied" : "unknown", cause: error })

interface LocatedResponse {
  readonly body: unknown
}

const make = Effect.fnUntraced(function* ({ api }: DeclaredApi, owned: Owned, baseUrl: string, token: string) {
  const http = yield* HttpClient.HttpClient
  const client = yield* HttpApiClient.makeWith(api, {
    baseUrl,
    httpClient: http.pipe(
      HttpClient.mapRequest(HttpClientRequest.bearerToken(token)),
      HttpClient.mapRequestEffect((request) =>
        Effect.map(CurrentScope, (scope) => HttpClientRequest.setHeaders(request, toScopeHeaders(scope)))
      ),
      // A redirect would send the body, which may contain a key, to another server.
      HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }))
    )
  })

  const send = (
    operation: Pick<OperationDescription, "group" | "name" | "isReadOnly" | "payload">,
    request: AnyRequest
  ): Effect.Effect<unknown, unknown> => {
    const { payload } = request
    const content = Stream.isStream(payload) ? { payload: Stream.orDie(payload) } : {}
    const complete = { query: {}, headers: {}, ...request, ...content }
    const response =
      findOperation(client, operation)?.(complete) ?? Effect.die(`The API has no operation ${operation.name}`)
    // An upload takes as long as it needs.
    const inTime = operation.payload === "stream" ? response : Effect.timeout(response, responseTimeout)
    return Effect.mapError(inTime, toClientError(operation.isReadOnly))
  }

  /** Sends a request whose response has the new item only if it is asked for it. */
  const sendLocated = (description: OperationDescription, request: AnyRequest) =>
    Effect.map(
      send(description, { ...request, query: { ...request.query, keyFormat: "visible" } }),
      (response) => (response as LocatedResponse).body
    )

  /** The token may be for all accounts: a handle is limited to its account as it is in process. */
  const call: CallOperation = (description, scope, request) =>
    Effect.flatMap(checkOwner(ownedBy(owned, scope), description, scope, request), (request) => {
      return description.response.kind === "located" ? sendLocated(description, request) : send(description, request)
    }).pipe(Effect.provideService(CurrentScope, scope))

  return call
})

/** Makes the function that calls the Tollgate at a URL. */
export const makeRemoteOperations = (declared: DeclaredApi, owned: Owned, baseUrl: string, token: string) =>
  Effect.runSync(Effect.provide(make(declared, owned, baseUrl, token), FetchHttpClient.layer))
