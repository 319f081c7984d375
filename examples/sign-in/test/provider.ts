/**
 * An OpenID provider on a free port, with forms on which any name signs in. The name is the group of the person, too.
 */
import { generateKeyPairSync, sign } from "node:crypto"
import { createServer } from "node:http"
import Provider from "oidc-provider"
import { listen } from "./listen.ts"

export const client = { id: "console", secret: "a-client-secret-of-these-tests" }

type Claims = Readonly<Record<string, unknown>>

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 })
export const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Signs claims with the key of the provider. */
export const signIdToken = (claims: Claims): string => {
  const text = `${encode({ alg: "RS256", kid: "tests" })}.${encode(claims)}`
  return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`
}

export const readClaims = (idToken: string): Claims =>
  JSON.parse(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString())

export interface TestProvider {
  readonly issuer: string
  /** Replaces the ID tokens that the provider issues. */
  changeIdToken: (idToken: string) => string
  readonly stop: () => void
}

export const startProvider = async (redirectUri: string): Promise<TestProvider> => {
  const server = createServer()
  const { url: issuer, stop } = await listen(server)
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "client_secret_post"
      }
    ],
    claims: { openid: ["sub"], email: ["email"], groups: ["groups"] },
    scopes: ["openid", "email", "groups"],
    // Puts the claims into the ID token.
    conformIdTokenClaims: false,
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, groups: ["everyone", id] })
    }),
    ttl: { AccessToken: 600, AuthorizationCode: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ["a-cookie-key-of-these-tests"] },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "tests", alg: "RS256", use: "sig" }] }
  })
  const result: TestProvider = { issuer, stop, changeIdToken: (idToken) => idToken }
  provider.use(async (ctx, next) => {
    await next()
    const body = ctx.body as { id_token?: string } | undefined
    if (ctx.path === "/token" && body?.id_token !== undefined) body.id_token = result.changeIdToken(body.id_token)
  })
  server.on("request", provider.callback())
  return result
}
