/**
 * Checks that the resource of an operation belongs to its caller. HTTP callers and handles in process pass the same
 * check.
 */
import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import { DeploymentNotFound, type DeploymentsNotConfigured } from "../deployments/model/DeploymentError.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import type { StoreError } from "../store/StoreError.ts"

/** The account, and in a project's handle the project, that a caller is limited to. Empty: all accounts. */
export interface CallerScope {
  readonly accountName?: string | undefined
  readonly projectName?: string | undefined
}

const scopeHeaders = { accountName: "tollgate-account", projectName: "tollgate-project" } as const

/** The headers in which a client sends the account and the project of a handle. */
export const toScopeHeaders = ({ accountName, projectName }: CallerScope): Readonly<Record<string, string>> => ({
  ...(accountName === undefined ? {} : { [scopeHeaders.accountName]: accountName }),
  ...(projectName === undefined ? {} : { [scopeHeaders.projectName]: projectName })
})

/** The limits that a request sets itself. */
export const readScopeHeaders = (headers: Readonly<Record<string, string | undefined>>): CallerScope => ({
  accountName: headers[scopeHeaders.accountName],
  projectName: headers[scopeHeaders.projectName]
})

/** The decoded request of any operation. */
export interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}

/** Finds owners. */
export interface Owners<E = StoreError | MeteringBucketNotFound | DeploymentNotFound | DeploymentsNotConfigured> {
  /** The account of a metering bucket. */
  readonly meteringBucket: (bucketId: string) => Effect.Effect<CallerScope, E>
  /** The account and the project of a deployment. */
  readonly deployment: (name: string) => Effect.Effect<CallerScope, E>
}

type OwnerError = Forbidden | MeteringBucketNotFound | DeploymentNotFound

const contains = (scope: CallerScope, owner: CallerScope): boolean =>
  (scope.accountName === undefined || scope.accountName === owner.accountName) &&
  (scope.projectName === undefined || owner.projectName === undefined || scope.projectName === owner.projectName)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Adds the caller's account to a request that names none. Fails if the request names another account. */
const resolveAccount = (scope: CallerScope, request: AnyRequest): Effect.Effect<AnyRequest, Forbidden> => {
  const { accountName } = scope
  const part = isObject(request.payload) ? "payload" : "query"
  const fields = isObject(request[part]) ? request[part] : {}
  if (accountName === undefined || fields["accountName"] === accountName) return Effect.succeed(request)
  return fields["accountName"] === undefined
    ? Effect.succeed({ ...request, [part]: { ...fields, accountName } })
    : Effect.fail(new Forbidden())
}

/** Resources of other accounts are not found, so that their ids cannot be probed. */
const checkFound = <E>(
  scopes: ReadonlyArray<CallerScope>,
  request: AnyRequest,
  owner: Effect.Effect<CallerScope, E>,
  notFound: () => OwnerError
): Effect.Effect<AnyRequest, E | OwnerError> =>
  scopes.every(({ accountName, projectName }) => accountName === undefined && projectName === undefined)
    ? Effect.succeed(request)
    : Effect.flatMap(owner, (owner) =>
        scopes.every((scope) => contains(scope, owner)) ? Effect.succeed(request) : Effect.fail(notFound())
      )

const oneAccount = { detail: "This credential is for one account. Use a credential for all accounts." }

/**
 * Fails unless the caller may use the resource of the request. Returns the request, completed with the account. `limits`
 * are further limits for resources whose path does not name their account.
 */
export const checkOwner = <E>(
  owners: Owners<E>,
  { owner }: OperationDescription,
  scope: CallerScope,
  request: AnyRequest,
  limits: CallerScope = {}
): Effect.Effect<AnyRequest, E | OwnerError> => {
  const { accountName = "", bucketId = "", deploymentName = "" } = request.params ?? {}
  switch (owner) {
    case "none":
    case "caller":
      return Effect.succeed(request)
    case "account":
      return contains(scope, { accountName }) ? Effect.succeed(request) : Effect.fail(new Forbidden())
    case "all-accounts":
      return scope.accountName === undefined ? Effect.succeed(request) : Effect.fail(new Forbidden(oneAccount))
    case "request":
      return resolveAccount(scope, request)
    case "metering-bucket":
      return checkFound(
        [scope, limits],
        request,
        owners.meteringBucket(bucketId),
        () => new MeteringBucketNotFound({ bucketId })
      )
    case "deployment":
      return checkFound(
        [scope, limits],
        request,
        owners.deployment(deploymentName),
        () => new DeploymentNotFound({ deployment: deploymentName })
      )
  }
}
