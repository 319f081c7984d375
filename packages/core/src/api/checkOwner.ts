/**
 * Checks that the resource of an operation belongs to its caller. HTTP callers and handles in process pass the same
 * check.
 */

import type { TollgateError } from "@tollgate/store/internal"
import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import type { AnyRequest, Params } from "./AnyRequest.ts"
import type { OperationDescription } from "./describeOperations.ts"

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

/** A kind of resource whose path does not name its account: who owns one, and what a caller gets who does not. */
export interface ResourceOwner<R = never> {
  readonly find: (params: Params) => Effect.Effect<CallerScope, unknown, R>
  readonly notFound: (params: Params) => TollgateError
}

/** By the name that endpoints give as their owner. */
export type Owners = Readonly<Record<string, ResourceOwner>>

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
const checkFound = (
  scopes: ReadonlyArray<CallerScope>,
  request: AnyRequest,
  { find, notFound }: ResourceOwner
): Effect.Effect<AnyRequest, unknown> => {
  const { params = {} } = request
  return scopes.every(({ accountName, projectName }) => accountName === undefined && projectName === undefined)
    ? Effect.succeed(request)
    : Effect.flatMap(find(params), (owner) =>
        scopes.every((scope) => contains(scope, owner)) ? Effect.succeed(request) : Effect.fail(notFound(params))
      )
}

const oneAccount = { detail: "This credential is for one account. Use a credential for all accounts." }

/**
 * Fails unless the caller may use the resource of the request. Returns the request, completed with the account. `limits`
 * are further limits for resources whose path does not name their account.
 */
export const checkOwner = (
  owners: Owners,
  { id, owner }: OperationDescription,
  scope: CallerScope,
  request: AnyRequest,
  limits: CallerScope = {}
): Effect.Effect<AnyRequest, unknown> => {
  switch (owner) {
    case "none":
    case "caller":
      return Effect.succeed(request)
    case "account": {
      const { accountName = "" } = request.params ?? {}
      return contains(scope, { accountName }) ? Effect.succeed(request) : Effect.fail(new Forbidden())
    }
    case "all-accounts":
      return scope.accountName === undefined ? Effect.succeed(request) : Effect.fail(new Forbidden(oneAccount))
    case "request":
      return resolveAccount(scope, request)
    default: {
      const resource = owners[owner]
      if (resource === undefined) return Effect.die(new Error(`The owner ${owner} of the endpoint ${id} is not known`))
      return checkFound([scope, limits], request, resource)
    }
  }
}
