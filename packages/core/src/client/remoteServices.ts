/**
 * The services of a Tollgate in another process, called over HTTP. They implement the same interfaces as the in-process
 * services, so that the promise API works with both.
 */
import { Context, Effect, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import type { ConsumerInclude, Consumers } from "../consumers/Consumers.ts"
import type { Deployments } from "../deployments/Deployments.ts"
import { DeploymentName } from "../deployments/model/Deployment.ts"
import { DeploymentNotFound, StatusNotFound } from "../deployments/model/DeploymentError.ts"
import { StatusId } from "../deployments/model/DeploymentStatus.ts"
import type { Uploads } from "../deployments/uploads/Uploads.ts"
import { Api } from "../http/Api.ts"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { notVerified } from "../keys/Verification.ts"
import type { MeteringBuckets } from "../metering/MeteringBuckets.ts"
import type { Plans } from "../metering/Plans.ts"
import type { Subscriptions } from "../metering/Subscriptions.ts"
import type { Usage } from "../metering/Usage.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import type { TagFilter } from "../schema/Tags.ts"
import type { Idempotency } from "../store/Idempotency.ts"
import { mapProblemsToErrors, mapUploadProblemsToErrors } from "./mapProblemsToErrors.ts"

/** Additional headers of one request. */
const RequestHeaders = Context.Reference<Readonly<Record<string, string>>>("@tollgate/core/client/RequestHeaders", {
  defaultValue: () => ({})
})

const withIdempotencyKey = (idempotency: Idempotency | undefined) =>
  Effect.provideService(RequestHeaders, idempotency === undefined ? {} : { "idempotency-key": idempotency.id })

const toTagParameters = (tags: TagFilter | undefined): Record<`tag.${string}`, string> =>
  Object.fromEntries(Object.entries(tags ?? {}).map(([name, value]) => [`tag.${name}`, value]))

const toIncludeParameters = ({ apiKeys, managers, managerInvites, keyFormat }: ConsumerInclude) =>
  omitUndefined({
    "include-api-keys": apiKeys,
    "include-managers": managers,
    "include-manager-invites": managerInvites,
    "key-format": keyFormat
  })

const toIfMatchHeader = (ifMatch: ReadonlyArray<number> | undefined) =>
  omitUndefined({ "if-match": ifMatch?.map((version) => `"${version}"`).join(", ") })

/** Converts a response to an entry: the body, with its version from the ETag. */
const toEntry = <A>({ body, headers }: { readonly body: A; readonly headers: { readonly etag: string } }) => ({
  value: body,
  version: Number(headers.etag.slice(1, -1))
})

/** Whether JSON can carry the string unchanged. Any other string cannot be a key, so no request is needed. */
const isTransmittable = (key: unknown): boolean =>
  typeof key === "string" && key.isWellFormed() && !key.includes("\u0000")

/** The operations that the HTTP API offers. */
interface RemoteServices {
  readonly consumers: Consumers["Service"]
  readonly keys: Omit<ApiKeys["Service"], "reencryptKeys">
  readonly meteringBuckets: Omit<MeteringBuckets["Service"], "getAccountName">
  readonly plans: Plans["Service"]
  readonly subscriptions: Subscriptions["Service"]
  readonly usage: Omit<Usage["Service"], "consumeForCustomer">
  readonly deployments: Omit<Deployments["Service"], "getServedRelease">
  readonly uploads: Uploads["Service"]
}

const make = Effect.fnUntraced(function* (
  baseUrl: string,
  token: string
): Effect.fn.Return<RemoteServices, never, HttpClient.HttpClient> {
  const http = yield* HttpClient.HttpClient
  const client = yield* HttpApiClient.makeWith(Api, {
    baseUrl,
    httpClient: HttpClient.mapRequestEffect(http, (request) =>
      Effect.map(RequestHeaders, (headers) =>
        HttpClientRequest.setHeaders(HttpClientRequest.bearerToken(request, token), headers)
      )
    )
  })

  const consumers: RemoteServices["consumers"] = {
    list: (params, { limit, offset, tags, managerEmail, ...include }) =>
      mapProblemsToErrors(
        client.consumers.list({
          params,
          query: {
            limit,
            offset,
            ...toTagParameters(tags),
            ...toIncludeParameters(include),
            ...omitUndefined({ "manager-email": managerEmail })
          }
        })
      ),
    create: (params, payload, { withApiKey, idempotency } = {}) =>
      mapProblemsToErrors(
        client.consumers
          .create({ params, payload, query: omitUndefined({ "with-api-key": withApiKey }) })
          .pipe(Effect.map(toEntry), withIdempotencyKey(idempotency)),
        { consumer: payload.name }
      ),
    get: (bucket, consumerName, { ifTags, ...include } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.consumers.get({
            params: { ...bucket, consumerName },
            query: { ...toTagParameters(ifTags), ...toIncludeParameters(include) }
          }),
          toEntry
        ),
        { consumer: consumerName }
      ),
    update: (bucket, consumerName, payload, { ifTags, ifMatch } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.consumers.update({
            params: { ...bucket, consumerName },
            payload,
            query: toTagParameters(ifTags),
            headers: toIfMatchHeader(ifMatch)
          }),
          toEntry
        ),
        { consumer: consumerName }
      ),
    remove: (bucket, consumerName, { ifTags, ifMatch } = {}) =>
      mapProblemsToErrors(
        client.consumers.remove({
          params: { ...bucket, consumerName },
          query: toTagParameters(ifTags),
          headers: toIfMatchHeader(ifMatch)
        }),
        { consumer: consumerName }
      ),
    rollKey: (bucket, consumerName, expiresOn, { ifTags, idempotency } = {}) =>
      mapProblemsToErrors(
        client.consumers
          .rollKey({ params: { ...bucket, consumerName }, payload: { expiresOn }, query: toTagParameters(ifTags) })
          .pipe(
            withIdempotencyKey(idempotency),
            Effect.flatMap(({ body, headers }) => {
              if (body !== undefined) return Effect.succeed(body)
              const keyId = headers.location.split("/").at(-1) ?? ""
              const params = { ...bucket, consumerName, keyId }
              return Effect.map(client.keys.get({ params, query: { "key-format": "visible" } }), ({ body }) => body)
            })
          ),
        { consumer: consumerName }
      )
  }

  const keys: RemoteServices["keys"] = {
    list: (bucket, consumerName, { limit, offset, keyFormat }) =>
      mapProblemsToErrors(
        client.keys.list({
          params: { ...bucket, consumerName },
          query: { limit, offset, ...omitUndefined({ "key-format": keyFormat }) }
        }),
        { consumer: consumerName }
      ),
    create: (bucket, consumerName, payload, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.keys
          .create({ params: { ...bucket, consumerName }, payload })
          .pipe(Effect.map(toEntry), withIdempotencyKey(idempotency)),
        { consumer: consumerName }
      ),
    createMany: (bucket, consumerName, payload, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.keys.createMany({ params: { ...bucket, consumerName }, payload }).pipe(withIdempotencyKey(idempotency)),
        {
          consumer: consumerName
        }
      ),
    get: (bucket, consumerName, keyId, { ifTags, keyFormat } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.keys.get({
            params: { ...bucket, consumerName, keyId },
            query: { ...toTagParameters(ifTags), ...omitUndefined({ "key-format": keyFormat }) }
          }),
          toEntry
        ),
        { consumer: consumerName }
      ),
    update: (bucket, consumerName, keyId, payload, { ifTags, ifMatch } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.keys.update({
            params: { ...bucket, consumerName, keyId },
            payload,
            query: toTagParameters(ifTags),
            headers: toIfMatchHeader(ifMatch)
          }),
          toEntry
        ),
        { consumer: consumerName }
      ),
    remove: (bucket, consumerName, keyId, { ifTags, ifMatch } = {}) =>
      mapProblemsToErrors(
        client.keys.remove({
          params: { ...bucket, consumerName, keyId },
          query: toTagParameters(ifTags),
          headers: toIfMatchHeader(ifMatch)
        }),
        { consumer: consumerName }
      ),
    verify: (params, key) =>
      isTransmittable(key)
        ? mapProblemsToErrors(client.keys.verify({ params, payload: { key } }))
        : Effect.succeed(notVerified)
  }

  const meteringBuckets: RemoteServices["meteringBuckets"] = {
    list: (account, page) =>
      mapProblemsToErrors(client.buckets.list({ query: account === "*" ? page : { ...page, accountName: account } })),
    create: (accountName, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.buckets.create({ payload: { accountName } }).pipe(Effect.map(toEntry), withIdempotencyKey(idempotency))
      ),
    get: (bucketId) =>
      mapProblemsToErrors(Effect.map(client.buckets.get({ params: { bucketId } }), toEntry), { bucketId }),
    remove: (bucketId, { ifMatch } = {}) =>
      mapProblemsToErrors(
        client.buckets.remove({ params: { bucketId }, query: {}, headers: toIfMatchHeader(ifMatch) }),
        {
          bucketId
        }
      )
  }

  const plans: RemoteServices["plans"] = {
    list: (bucketId, query) => mapProblemsToErrors(client.plans.list({ params: { bucketId }, query }), { bucketId }),
    create: (bucketId, payload, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.plans
          .create({ params: { bucketId }, payload })
          .pipe(Effect.map(toEntry), withIdempotencyKey(idempotency)),
        {
          bucketId,
          planExternalId: payload.planExternalId
        }
      ),
    get: (bucketId, planId) =>
      mapProblemsToErrors(Effect.map(client.plans.get({ params: { bucketId, planId } }), toEntry), {
        bucketId,
        planId
      }),
    update: (bucketId, planId, payload, { ifMatch } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.plans.update({ params: { bucketId, planId }, payload, query: {}, headers: toIfMatchHeader(ifMatch) }),
          toEntry
        ),
        { bucketId, planId, ...omitUndefined({ planExternalId: payload.planExternalId }) }
      ),
    remove: (bucketId, planId, { ifMatch } = {}) =>
      mapProblemsToErrors(
        client.plans.remove({ params: { bucketId, planId }, query: {}, headers: toIfMatchHeader(ifMatch) }),
        {
          bucketId,
          planId
        }
      )
  }

  const subscriptions: RemoteServices["subscriptions"] = {
    list: (bucketId, query) =>
      mapProblemsToErrors(client.subscriptions.list({ params: { bucketId }, query }), { bucketId }),
    create: (bucketId, payload, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.subscriptions
          .create({ params: { bucketId }, payload })
          .pipe(Effect.map(toEntry), withIdempotencyKey(idempotency)),
        { bucketId, subscriptionExternalId: payload.subscriptionExternalId }
      ),
    get: (bucketId, subscriptionId) =>
      mapProblemsToErrors(Effect.map(client.subscriptions.get({ params: { bucketId, subscriptionId } }), toEntry), {
        bucketId,
        subscriptionId
      }),
    update: (bucketId, subscriptionId, payload, { ifMatch } = {}) =>
      mapProblemsToErrors(
        Effect.map(
          client.subscriptions.update({
            params: { bucketId, subscriptionId },
            payload,
            query: {},
            headers: toIfMatchHeader(ifMatch)
          }),
          toEntry
        ),
        { bucketId, subscriptionId }
      ),
    remove: (bucketId, subscriptionId, { ifMatch } = {}) =>
      mapProblemsToErrors(
        client.subscriptions.remove({
          params: { bucketId, subscriptionId },
          query: {},
          headers: toIfMatchHeader(ifMatch)
        }),
        { bucketId, subscriptionId }
      )
  }

  const usage: RemoteServices["usage"] = {
    quotas: (bucketId, subscriptionId) =>
      mapProblemsToErrors(client.subscriptions.quotas({ params: { bucketId, subscriptionId } }), {
        bucketId,
        subscriptionId
      }),
    consume: (bucketId, subscriptionId, meters, { idempotency } = {}) =>
      mapProblemsToErrors(
        client.subscriptions
          .consume({ params: { bucketId, subscriptionId }, payload: { meters } })
          .pipe(withIdempotencyKey(idempotency)),
        { bucketId, subscriptionId }
      )
  }

  /** Rejects invalid names without a request: in a URL they could lead to another path. */
  const validateName = (name: string) =>
    Schema.is(DeploymentName)(name) ? Effect.succeed(name) : Effect.fail(new DeploymentNotFound({ deployment: name }))

  const deployments: RemoteServices["deployments"] = {
    list: (params, query) => mapProblemsToErrors(client.deployments.list({ params, query })),
    get: (deployment) =>
      Effect.flatMap(validateName(deployment), (deploymentName) =>
        mapProblemsToErrors(Effect.map(client.deployments.get({ params: { deploymentName } }), toEntry), {
          deployment
        })
      ),
    status: (project, statusId) =>
      Schema.is(StatusId)(statusId)
        ? mapProblemsToErrors(Effect.map(client.deployments.status({ params: { ...project, statusId } }), toEntry), {
            statusId
          })
        : Effect.fail(new StatusNotFound({ statusId })),
    deploy: (deployment, { idempotency } = {}) =>
      Effect.flatMap(validateName(deployment), (deploymentName) =>
        mapProblemsToErrors(
          client.deployments.deploy({ params: { deploymentName } }).pipe(withIdempotencyKey(idempotency)),
          {
            deployment
          }
        )
      ),
    remove: (deployment, { ifMatch } = {}) =>
      Effect.flatMap(validateName(deployment), (deploymentName) => {
        const request = { params: { deploymentName }, query: {}, headers: toIfMatchHeader(ifMatch) }
        return mapProblemsToErrors(client.deployments.remove(request), { deployment })
      })
  }

  const uploads: RemoteServices["uploads"] = {
    create: (payload, { idempotency } = {}) =>
      mapProblemsToErrors(client.deployments.createSource({ payload }).pipe(withIdempotencyKey(idempotency))),
    receive: ({ id, expires, signature }, payload, { contentDigest } = {}) =>
      mapUploadProblemsToErrors(
        client.uploads.receive({
          params: { file: `${id}.tar.gz` },
          query: { expires, signature },
          headers: omitUndefined({ "content-digest": contentDigest }),
          payload
        })
      )
  }

  return { consumers, keys, meteringBuckets, plans, subscriptions, usage, deployments, uploads }
})

/** Makes the services of the Tollgate at a URL. */
export const remoteServices = (baseUrl: string, token: string): Effect.Effect<RemoteServices> =>
  Effect.provide(make(baseUrl, token), FetchHttpClient.layer)
