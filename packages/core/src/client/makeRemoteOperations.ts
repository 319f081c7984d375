/**
 * Calls operations of a Tollgate in another process, over its HTTP API.
 */
import { Context, Effect, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import type { OperationDescription } from "../api/describeOperations.ts"
import type { SignedUploadUrl } from "../deployments/uploads/Uploads.ts"
import { isTollgateError } from "../errors/TollgateError.ts"
import { Api } from "../operations/Api.ts"
import { type AnyRequest, type CallerScope, checkOwner, type Owners, toScopeHeaders } from "../operations/checkOwner.ts"
import { findOperation } from "../operations/findOperation.ts"
import type { UploadedSource } from "../promises/handles.ts"
import type { CallOperation } from "../promises/makeMethods.ts"
import { ServerUnreachable } from "./ServerUnreachable.ts"

const responseTimeout = "30 seconds"

/** The account and project of the handle that is called. */
const CurrentScope = Context.Reference<CallerScope>("@tollgate/core/client/CurrentScope", { defaultValue: () => ({}) })

/** The server looks the owner up, and compares it with the headers. */
const ownedBy = (scope: CallerScope): Owners<never> => ({
  meteringBucket: () => Effect.succeed(scope),
  deployment: () => Effect.succeed(scope)
})

/** Errors that the server declares pass as they are; every other failure means that there is no usable response. */
const toClientError = (isReadOnly: boolean) => (error: unknown) =>
  isTollgateError(error)
    ? error
    : new ServerUnreachable({ outcome: isReadOnly ? "not-applied" : "unknown", cause: error })

interface LocatedResponse {
  readonly body: unknown
  readonly headers: { readonly location: string }
}

const make = Effect.fnUntraced(function* (baseUrl: string, token: string) {
  const http = yield* HttpClient.HttpClient
  const client = yield* HttpApiClient.makeWith(Api, {
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
    operation: Pick<OperationDescription, "group" | "name" | "isReadOnly">,
    request: AnyRequest
  ): Effect.Effect<unknown, unknown> => {
    const complete = { query: {}, headers: {}, ...request }
    const response =
      findOperation(client, operation)?.(complete) ?? Effect.die(`The API has no operation ${operation.name}`)
    return response.pipe(Effect.timeout(responseTimeout), Effect.mapError(toClientError(operation.isReadOnly)))
  }

  /** Reads the item at a `Location` if the response does not contain it. */
  const readLocated = (request: AnyRequest, { body, headers: { location } }: LocatedResponse) => {
    if (body !== undefined) return Effect.succeed(body)
    const params = { ...request.params, keyId: location.split("/").at(-1) ?? "" }
    // Not read-only: the item exists by now, so a failure must not say that nothing was changed.
    const key = send({ group: "keys", name: "get", isReadOnly: false }, { params, query: { keyFormat: "visible" } })
    return Effect.map(key, (entry) => (entry as { readonly value: unknown }).value)
  }

  /** The token may be for all accounts: a handle is limited to its account as it is in process. */
  const call: CallOperation = (description, scope, request) =>
    Effect.flatMap(checkOwner(ownedBy(scope), description, scope, request), (request) => {
      const response = send(description, request)
      return description.response.kind === "located"
        ? Effect.flatMap(response, (response) => readLocated(request, response as LocatedResponse))
        : response
    }).pipe(Effect.provideService(CurrentScope, scope))

  /** Has no timeout: an upload takes as long as it needs. */
  const upload = (
    { id, expires, signature }: SignedUploadUrl,
    content: Stream.Stream<Uint8Array, unknown>
  ): Effect.Effect<UploadedSource, unknown> =>
    Effect.mapError(
      client.uploads.receive({
        params: { file: `${id}.tar.gz` },
        query: { expires, signature },
        headers: {},
        payload: Stream.orDie(content)
      }),
      toClientError(false)
    )

  return { call, upload }
})

/** Makes the functions that call the Tollgate at a URL. */
export const makeRemoteOperations = (baseUrl: string, token: string) =>
  Effect.runSync(Effect.provide(make(baseUrl, token), FetchHttpClient.layer))
