/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../Api.ts"
import { Forbidden, mayActFor, Principal } from "../access/Principal.ts"
import { makeIdempotent } from "../http/idempotent.ts"
import { ifMatchIn, withETag } from "../http/parameters.ts"
import { explained, UnsupportedEncodingProblem } from "../http/problems.ts"
import { RequestId } from "../http/RequestId.ts"
import { optional } from "../shared/optional.ts"
import { contentOf } from "./contentOf.ts"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { Deployments } from "./Deployments.ts"
import { Uploads } from "./Uploads.ts"

export const DeploymentsHttp = HttpApiBuilder.group(
  Api,
  "deployments",
  Effect.fnUntraced(function* (handlers) {
    const deployments = yield* Deployments
    const uploads = yield* Uploads
    const idempotent = yield* makeIdempotent

    /** The deployment, if it is the caller's; another account's is not told from one that does not exist. */
    const own = Effect.fnUntraced(function* (name: string) {
      const principal = yield* Principal
      const entry = yield* deployments.get(name)
      return mayActFor(principal, entry.value.accountName) ? entry : yield* new DeploymentNotFound({ deployment: name })
    })

    return handlers.handleAll({
      status: ({ params }) => explained(Effect.map(deployments.status(params, params.statusId), withETag)),
      list: ({ params, query }) => explained(deployments.list(params, query)),
      createSource: ({ payload }) =>
        idempotent((idempotency) =>
          Effect.gen(function* () {
            if (!mayActFor(yield* Principal, payload.accountName)) {
              return yield* new Forbidden({ problem: "This credential is for another account" })
            }
            return yield* uploads.create(payload, optional({ idempotency }))
          }).pipe(explained)
        ),
      get: ({ params }) => explained(Effect.map(own(params.deploymentName), withETag)),
      remove: ({ params, headers }) =>
        Effect.gen(function* () {
          yield* own(params.deploymentName)
          const ifMatch = yield* ifMatchIn(headers["if-match"])
          yield* deployments.remove(params.deploymentName, optional({ ifMatch }))
        }).pipe(explained),
      deploy: ({ params }) =>
        idempotent((idempotency) =>
          explained(
            Effect.andThen(
              own(params.deploymentName),
              deployments.deploy(params.deploymentName, optional({ idempotency }))
            )
          )
        )
    })
  })
)

export const UploadsHttp = HttpApiBuilder.group(
  Api,
  "uploads",
  Effect.fnUntraced(function* (handlers) {
    const uploads = yield* Uploads
    return handlers.handleRaw("receive", ({ params, query, headers, request }) =>
      Effect.gen(function* () {
        const encoding = request.headers["content-encoding"] ?? "identity"
        if (encoding.toLowerCase() !== "identity") {
          const detail = "Send the archive as it is, without Content-Encoding"
          return yield* new UnsupportedEncodingProblem({ detail, instance: yield* RequestId })
        }
        const [, id = ""] = /^(.+)\.tar\.gz$/.exec(params.file) ?? []
        const length = request.headers["content-length"]
        return yield* explained(
          uploads.receive(
            { id, expires: query.expires ?? "", signature: query.signature ?? "" },
            contentOf(request.source instanceof Request ? request.source.body : null),
            optional({
              isHandedOver: true,
              contentLength: length === undefined ? undefined : Number(length),
              contentDigest: headers["content-digest"]
            })
          )
        )
      })
    )
  })
)
