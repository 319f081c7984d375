/**
 * Signs people in with an OpenID provider: authorization code flow with PKCE. The handlers are for Node and Express.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as oidc from "openid-client"
import { attemptMs, makeAttemptCookie } from "./attemptCookie.ts"

export interface SignInOptions<Person> {
  /** The URL of the provider, below which it serves `/.well-known/openid-configuration`. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The URL of `finish`, as it is registered with the provider. */
  readonly callbackUrl: string
  readonly scope: string
  readonly cookieSecret: string
  /** Returns undefined for people who have no role. */
  readonly toPerson: (claims: oidc.IDToken) => Person | undefined
  /** Returns the URL to redirect to. */
  readonly openConsole: (person: Person) => Promise<string>
  readonly logError: (message: string) => void
}

type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>

const respond = (res: ServerResponse, status: number, text: string, headers = {}): void => {
  res.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers })
  res.end(text)
}

/** Only the messages, and the code of the provider: what else an error has can contain codes and claims. */
const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown error"
  const code = "error" in error ? `: ${JSON.stringify(error.error)}` : ""
  return error.message + code + (error.cause instanceof Error ? `: ${describeError(error.cause)}` : "")
}

const isLocalHttp = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname)

export const createSignIn = <Person>(options: SignInOptions<Person>): { start: Handler; finish: Handler } => {
  const { callbackUrl, clientId, clientSecret, scope, toPerson, openConsole, logError } = options
  const issuer = new URL(options.issuer)
  const cookie = makeAttemptCookie(options.cookieSecret, callbackUrl.startsWith("https:"))

  // Without the first, openid-client trusts the connection to the provider, and does not check the signature.
  const checks = [oidc.enableNonRepudiationChecks, ...(isLocalHttp(issuer) ? [oidc.allowInsecureRequests] : [])]
  let discovery: Promise<oidc.Configuration> | undefined
  const discover = (): Promise<oidc.Configuration> => {
    discovery ??= oidc.discovery(issuer, clientId, clientSecret, undefined, { execute: checks }).catch((error) => {
      discovery = undefined // the next person tries again
      throw error
    })
    return discovery
  }

  const handle =
    (handler: Handler): Handler =>
    async (req, res) => {
      try {
        await handler(req, res)
      } catch (error) {
        logError(describeError(error))
        respond(res, 500, "Sign-in does not work at the moment. Try again later.")
      }
    }

  /** Redirects to the provider. */
  const start = handle(async (_req, res) => {
    const configuration = await discover()
    const [state, nonce, codeVerifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callbackUrl,
      scope,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: "S256"
    })
    const attempt = { state, nonce, codeVerifier, expiresOn: Date.now() + attemptMs }
    respond(res, 302, "", { location: url.href, "set-cookie": cookie.create(attempt) })
  })

  /** Takes the response of the provider, and redirects to the console. */
  const finish = handle(async (req, res) => {
    res.setHeader("set-cookie", cookie.clear) // also if the attempt fails: each is used once
    const attempt = cookie.read(req)
    if (attempt === undefined)
      return respond(res, 400, "This sign-in was not started here, or is too old. Start again.")

    // The URL is the registered one, and not made from the Host header.
    const url = new URL(callbackUrl)
    url.search = req.url?.split("?")[1] ?? ""
    const configuration = await discover()
    let claims: oidc.IDToken | undefined
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.codeVerifier
      })
      claims = tokens.claims()
    } catch (error) {
      logError(describeError(error))
      return respond(res, 400, "Sign-in failed. Start again.")
    }

    const person = claims && toPerson(claims)
    if (person === undefined) return respond(res, 403, "You have no access to the console.")
    respond(res, 302, "", { location: await openConsole(person) })
  })

  return { start, finish }
}
