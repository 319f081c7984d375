/**
 * HTTP handlers of deployments and uploads: each passes the decoded request to the service and maps its errors to
 * problems.
 */
import { Effect } from "effect"
import { canAccessAccount, Forbidden, Principal } from "../../access/Principal.ts"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { UnsupportedEncodingProblem } from "../../api/problems.ts"
import { Deployments } from "../../deployments/Deployments.ts"
import { DeploymentNotFound } from "../../deployments/model/DeploymentError.ts"
import { toSourceStream } from "../../deployments/uploads/sourceStream.ts"
import { Uploads } from "../../deployments/uploads/Uploads.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { RequestContext } from "../RequestContext.ts"
import { RequestId } from "../RequestId.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"

export const DeploymentsHttp = Effect.gen(function* () {
  const deployments = yield* Deployments
  const uploads = yield* Uploads
  const runIdempotent = yield* makeIdempotencyGuard

  /**
   * Gets a deployment of the caller's account. Those of other accounts are not found, so that names cannot be probed.
   */
  const findOwnDeployment = Effect.fnUntraced(function* (name: string) {
    const principal = yield* Principal
    const entry = yield* deployments.get(name)
    return canAccessAccount(principal, entry.value.accountName)
      ? entry
      : yield* new DeploymentNotFound({ deployment: name })
  })

  return {
    status: ({ params }) => mapErrorsToProblems(Effect.map(deployments.status(params, params.statusId), withETag)),
    list: ({ params, query }) => mapErrorsToProblems(deployments.list(params, query)),
    createSource: ({ payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          if (!canAccessAccount(yield* Principal, payload.accountName)) {
            return yield* new Forbidden({ problem: "This credential is for another account" })
          }
          return yield* uploads.create(payload, { idempotency })
        }).pipe(mapErrorsToProblems)
      ),
    get: ({ params }) => mapErrorsToProblems(Effect.map(findOwnDeployment(params.deploymentName), withETag)),
    remove: ({ params, headers }) =>
      Effect.gen(function* () {
        yield* findOwnDeployment(params.deploymentName)
        const ifMatch = yield* parseIfMatch(headers["if-match"])
        yield* deployments.remove(params.deploymentName, { ifMatch })
      }).pipe(mapErrorsToProblems),
    deploy: ({ params }) =>
      runIdempotent((idempotency) =>
        mapErrorsToProblems(
          Effect.andThen(
            findOwnDeployment(params.deploymentName),
            deployments.deploy(params.deploymentName, { idempotency })
          )
        )
      )
  } satisfies GroupHandlers<"deployments">
})

export const UploadsHttp = Effect.gen(function* () {
  const uploads = yield* Uploads
  return {
    receive: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const { request } = yield* RequestContext
        const encoding = request.headers["content-encoding"] ?? "identity"
        if (encoding.toLowerCase() !== "identity") {
          const detail = "Send the archive without Content-Encoding"
          return yield* new UnsupportedEncodingProblem({ detail, instance: yield* RequestId })
        }
        const [, id = ""] = /^(.+)\.tar\.gz$/.exec(params.file) ?? []
        const contentLength = request.headers["content-length"]
        return yield* mapErrorsToProblems(
          uploads.receive(
            { id, expires: query.expires ?? "", signature: query.signature ?? "" },
            toSourceStream(request.body()),
            {
              transferOwnership: true,
              contentLength: contentLength === undefined ? undefined : Number(contentLength),
              contentDigest: headers["content-digest"]
            }
          )
        )
      })
  } satisfies GroupHandlers<"uploads">
})
