/**
 * Serves what is deployed. It is strangers' code: where it has no origin of its own, browsers are told to keep it in a
 * sandbox.
 */
import { Effect } from "effect"
import type { Endpoint } from "../http/compile.ts"
import { type Answer, answeredBy } from "../http/Exchange.ts"
import { Incoming } from "../http/Incoming.ts"
import { explained, NotFoundProblem } from "../http/problems.ts"
import { RequestId } from "../http/RequestId.ts"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { Deployments } from "./Deployments.ts"
import { Hosting, type HostingShape } from "./Hosting.ts"

/** How often a release may be replaced while it is being opened. */
const patience = 5

/** The deployment's name, and the path below it, as they were asked for. */
const addressed = (url: string): { readonly name: string; readonly path: string | undefined } => {
  const [, name = "", path] = /^\/sites\/([^/]*)(\/.*)?$/.exec(new URL(url).pathname) ?? []
  return { name, path }
}

const isOnSitesOrigin = ({ sitesUrl }: HostingShape, request: Request): boolean =>
  sitesUrl !== undefined && new URL(sitesUrl).host === (request.headers.get("host") ?? new URL(request.url).host)

const packed = (response: Response, sandbox: boolean): Answer => {
  const { status, headers, body } = answeredBy(response)
  const confined = sandbox ? { "content-security-policy": "sandbox" } : {}
  return { status, headers: { "cache-control": "no-cache", ...headers, ...confined }, body }
}

const nothingAt = Effect.fnUntraced(function* (path: string) {
  return yield* new NotFoundProblem({ detail: `There is nothing at ${path}`, instance: yield* RequestId })
})

const nowhere = Effect.succeed(undefined)

/** Answers for what is deployed; nothing, where the target does not serve it. */
export const SitesHttp = Effect.gen(function* () {
  const hosting = yield* Hosting
  if (hosting?.target.serve === undefined) return undefined
  const deployments = yield* Deployments

  const answer = Effect.fnUntraced(function* (request: Request) {
    const { name, path } = addressed(request.url)
    for (let attempt = 0; attempt < patience; attempt++) {
      const release = yield* deployments.served(name)
      if (path === undefined) {
        // Relative, since only the browser knows where the interface is mounted.
        const location = `./${name}/${new URL(request.url).search}`
        return { status: 308, headers: { location }, body: undefined } satisfies Answer
      }
      const response = yield* hosting.target.serve?.(release, path, request) ?? nowhere
      const isNothing = response?.status === 404 && !response.headers.has("content-type")
      if (isNothing) return yield* new DeploymentNotFound({ deployment: name })
      if (response !== undefined) return packed(response, !isOnSitesOrigin(hosting, request))
    }
    return yield* new DeploymentNotFound({ deployment: name })
  })

  const endpoint: Endpoint = ({ request }) =>
    explained(answer(request())).pipe(
      Effect.catchTag("DeploymentNotFoundProblem", () => Effect.flatMap(Incoming, ({ path }) => nothingAt(path)))
    )
  return endpoint
})
