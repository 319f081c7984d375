/**
 * The services of a Tollgate in another process, asked over HTTP. They have the very shape of those in this one, so
 * that whatever is built on services works on both.
 */
import { Context, Effect, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../Api.ts"
import type { Consumers, ConsumerView } from "../consumers/Consumers.ts"
import { DeploymentName } from "../deployments/Deployment.ts"
import { DeploymentNotFound, StatusNotFound } from "../deployments/DeploymentError.ts"
import { StatusId } from "../deployments/DeploymentStatus.ts"
import type { Deployments } from "../deployments/Deployments.ts"
import type { Uploads } from "../deployments/Uploads.ts"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { notVerified } from "../keys/Verification.ts"
import type { Buckets } from "../metering/Buckets.ts"
import type { Usage } from "../metering/Usage.ts"
import type { Plans } from "../plans/Plans.ts"
import type { Idempotency } from "../shared/Idempotency.ts"
import { optional } from "../shared/optional.ts"
import type { TagFilter } from "../shared/Tags.ts"
import type { Subscriptions } from "../subscriptions/Subscriptions.ts"
import { restored, restoredUpload } from "./restore.ts"

/** Headers of one request, beside those of all. */
const RequestHeaders = Context.Reference<Readonly<Record<string, string>>>("@tollgate/core/client/RequestHeaders", {
  defaultValue: () => ({})
})

const once = (idempotency: Idempotency | undefined) =>
  Effect.provideService(RequestHeaders, idempotency === undefined ? {} : { "idempotency-key": idempotency.id })

const tagParameters = (tags: TagFilter | undefined): Record<`tag.${string}`, string> =>
  Object.fromEntries(Object.entries(tags ?? {}).map(([name, value]) => [`tag.${name}`, value]))

const viewParameters = ({ apiKeys, managers, managerInvites, keyFormat }: ConsumerView) =>
  optional({
    "include-api-keys": apiKeys,
    "include-managers": managers,
    "include-manager-invites": managerInvites,
    "key-format": keyFormat
  })

const conditions = (ifMatch: ReadonlyArray<number> | undefined) =>
  optional({ "if-match": ifMatch?.map((version) => `"${version}"`).join(", ") })

/** An item, and its version from its ETag. */
const versioned = <A>({ body, headers }: { readonly body: A; readonly headers: { readonly etag: string } }) => ({
  value: body,
  version: Number(headers.etag.slice(1, -1))
})

/** What cannot be sent as it is can be no key. */
const isAskable = (key: unknown): boolean => typeof key === "string" && key.isWellFormed() && !key.includes("\u0000")

/** What can be asked over HTTP. */
export interface RemoteServices {
  readonly consumers: Consumers["Service"]
  readonly keys: Omit<ApiKeys["Service"], "reseal">
  readonly buckets: Omit<Buckets["Service"], "owner">
  readonly plans: Plans["Service"]
  readonly subscriptions: Subscriptions["Service"]
  readonly usage: Omit<Usage["Service"], "consumeFor">
  readonly deployments: Omit<Deployments["Service"], "served">
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
    list: (params, { limit, offset, tags, managerEmail, ...view }) =>
      restored(
        client.consumers.list({
          params,
          query: {
            limit,
            offset,
            ...tagParameters(tags),
            ...viewParameters(view),
            ...optional({ "manager-email": managerEmail })
          }
        })
      ),
    create: (params, payload, { withApiKey, idempotency } = {}) =>
      restored(
        client.consumers
          .create({ params, payload, query: optional({ "with-api-key": withApiKey }) })
          .pipe(Effect.map(versioned), once(idempotency)),
        { consumer: payload.name }
      ),
    get: (bucket, consumerName, { guard, ...view } = {}) =>
      restored(
        Effect.map(
          client.consumers.get({
            params: { ...bucket, consumerName },
            query: { ...tagParameters(guard), ...viewParameters(view) }
          }),
          versioned
        ),
        { consumer: consumerName }
      ),
    update: (bucket, consumerName, payload, { guard, ifMatch } = {}) =>
      restored(
        Effect.map(
          client.consumers.update({
            params: { ...bucket, consumerName },
            payload,
            query: tagParameters(guard),
            headers: conditions(ifMatch)
          }),
          versioned
        ),
        { consumer: consumerName }
      ),
    remove: (bucket, consumerName, { guard, ifMatch } = {}) =>
      restored(
        client.consumers.remove({
          params: { ...bucket, consumerName },
          query: tagParameters(guard),
          headers: conditions(ifMatch)
        }),
        { consumer: consumerName }
      ),
    rollKey: (bucket, consumerName, expiresOn, { guard, idempotency } = {}) =>
      restored(
        client.consumers
          .rollKey({ params: { ...bucket, consumerName }, payload: { expiresOn }, query: tagParameters(guard) })
          .pipe(
            once(idempotency),
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
      restored(
        client.keys.list({
          params: { ...bucket, consumerName },
          query: { limit, offset, ...optional({ "key-format": keyFormat }) }
        }),
        { consumer: consumerName }
      ),
    create: (bucket, consumerName, payload, { idempotency } = {}) =>
      restored(
        client.keys
          .create({ params: { ...bucket, consumerName }, payload })
          .pipe(Effect.map(versioned), once(idempotency)),
        { consumer: consumerName }
      ),
    createMany: (bucket, consumerName, payload, { idempotency } = {}) =>
      restored(client.keys.createMany({ params: { ...bucket, consumerName }, payload }).pipe(once(idempotency)), {
        consumer: consumerName
      }),
    get: (bucket, consumerName, keyId, { guard, keyFormat } = {}) =>
      restored(
        Effect.map(
          client.keys.get({
            params: { ...bucket, consumerName, keyId },
            query: { ...tagParameters(guard), ...optional({ "key-format": keyFormat }) }
          }),
          versioned
        ),
        { consumer: consumerName }
      ),
    update: (bucket, consumerName, keyId, payload, { guard, ifMatch } = {}) =>
      restored(
        Effect.map(
          client.keys.update({
            params: { ...bucket, consumerName, keyId },
            payload,
            query: tagParameters(guard),
            headers: conditions(ifMatch)
          }),
          versioned
        ),
        { consumer: consumerName }
      ),
    remove: (bucket, consumerName, keyId, { guard, ifMatch } = {}) =>
      restored(
        client.keys.remove({
          params: { ...bucket, consumerName, keyId },
          query: tagParameters(guard),
          headers: conditions(ifMatch)
        }),
        { consumer: consumerName }
      ),
    verify: (params, key) =>
      isAskable(key) ? restored(client.keys.verify({ params, payload: { key } })) : Effect.succeed(notVerified)
  }

  const buckets: RemoteServices["buckets"] = {
    list: (account, page) =>
      restored(client.buckets.list({ query: account === "*" ? page : { ...page, accountName: account } })),
    create: (accountName, { idempotency } = {}) =>
      restored(client.buckets.create({ payload: { accountName } }).pipe(Effect.map(versioned), once(idempotency))),
    get: (bucketId) => restored(Effect.map(client.buckets.get({ params: { bucketId } }), versioned), { bucketId }),
    remove: (bucketId, { ifMatch } = {}) =>
      restored(client.buckets.remove({ params: { bucketId }, query: {}, headers: conditions(ifMatch) }), { bucketId })
  }

  const plans: RemoteServices["plans"] = {
    list: (bucketId, query) => restored(client.plans.list({ params: { bucketId }, query }), { bucketId }),
    create: (bucketId, payload, { idempotency } = {}) =>
      restored(client.plans.create({ params: { bucketId }, payload }).pipe(Effect.map(versioned), once(idempotency)), {
        bucketId,
        planExternalId: payload.planExternalId
      }),
    get: (bucketId, planId) =>
      restored(Effect.map(client.plans.get({ params: { bucketId, planId } }), versioned), { bucketId, planId }),
    update: (bucketId, planId, payload, { ifMatch } = {}) =>
      restored(
        Effect.map(
          client.plans.update({ params: { bucketId, planId }, payload, query: {}, headers: conditions(ifMatch) }),
          versioned
        ),
        { bucketId, planId, ...optional({ planExternalId: payload.planExternalId }) }
      ),
    remove: (bucketId, planId, { ifMatch } = {}) =>
      restored(client.plans.remove({ params: { bucketId, planId }, query: {}, headers: conditions(ifMatch) }), {
        bucketId,
        planId
      })
  }

  const subscriptions: RemoteServices["subscriptions"] = {
    list: (bucketId, query) => restored(client.subscriptions.list({ params: { bucketId }, query }), { bucketId }),
    create: (bucketId, payload, { idempotency } = {}) =>
      restored(
        client.subscriptions.create({ params: { bucketId }, payload }).pipe(Effect.map(versioned), once(idempotency)),
        { bucketId, subscriptionExternalId: payload.subscriptionExternalId }
      ),
    get: (bucketId, subscriptionId) =>
      restored(Effect.map(client.subscriptions.get({ params: { bucketId, subscriptionId } }), versioned), {
        bucketId,
        subscriptionId
      }),
    update: (bucketId, subscriptionId, payload, { ifMatch } = {}) =>
      restored(
        Effect.map(
          client.subscriptions.update({
            params: { bucketId, subscriptionId },
            payload,
            query: {},
            headers: conditions(ifMatch)
          }),
          versioned
        ),
        { bucketId, subscriptionId }
      ),
    remove: (bucketId, subscriptionId, { ifMatch } = {}) =>
      restored(
        client.subscriptions.remove({
          params: { bucketId, subscriptionId },
          query: {},
          headers: conditions(ifMatch)
        }),
        { bucketId, subscriptionId }
      )
  }

  const usage: RemoteServices["usage"] = {
    quotas: (bucketId, subscriptionId) =>
      restored(client.subscriptions.quotas({ params: { bucketId, subscriptionId } }), { bucketId, subscriptionId }),
    consume: (bucketId, subscriptionId, meters, { idempotency } = {}) =>
      restored(
        client.subscriptions
          .consume({ params: { bucketId, subscriptionId }, payload: { meters } })
          .pipe(once(idempotency)),
        { bucketId, subscriptionId }
      )
  }

  /** What cannot be a name is nobody's, and might lead to another path. */
  const named = (name: string) =>
    Schema.is(DeploymentName)(name) ? Effect.succeed(name) : Effect.fail(new DeploymentNotFound({ deployment: name }))

  const deployments: RemoteServices["deployments"] = {
    list: (params, query) => restored(client.deployments.list({ params, query })),
    get: (deployment) =>
      Effect.flatMap(named(deployment), (deploymentName) =>
        restored(Effect.map(client.deployments.get({ params: { deploymentName } }), versioned), { deployment })
      ),
    status: (project, statusId) =>
      Schema.is(StatusId)(statusId)
        ? restored(Effect.map(client.deployments.status({ params: { ...project, statusId } }), versioned), { statusId })
        : Effect.fail(new StatusNotFound({ statusId })),
    deploy: (deployment, { idempotency } = {}) =>
      Effect.flatMap(named(deployment), (deploymentName) =>
        restored(client.deployments.deploy({ params: { deploymentName } }).pipe(once(idempotency)), { deployment })
      ),
    remove: (deployment, { ifMatch } = {}) =>
      Effect.flatMap(named(deployment), (deploymentName) => {
        const request = { params: { deploymentName }, query: {}, headers: conditions(ifMatch) }
        return restored(client.deployments.remove(request), { deployment })
      })
  }

  const uploads: RemoteServices["uploads"] = {
    create: (payload, { idempotency } = {}) =>
      restored(client.deployments.createSource({ payload }).pipe(once(idempotency))),
    receive: ({ id, expires, signature }, payload, { contentDigest } = {}) =>
      restoredUpload(
        client.uploads.receive({
          params: { file: `${id}.tar.gz` },
          query: { expires, signature },
          headers: optional({ "content-digest": contentDigest }),
          payload
        })
      )
  }

  return { consumers, keys, buckets, plans, subscriptions, usage, deployments, uploads }
})

/** The services at an address, for the bearer of a token. */
export const remoteServices = (baseUrl: string, token: string): Effect.Effect<RemoteServices> =>
  Effect.provide(make(baseUrl, token), FetchHttpClient.layer)
