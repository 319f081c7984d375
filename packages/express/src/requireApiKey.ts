/**
 * Protects routes of the host by an API key, and counts their use.
 */
import type { AuthorizationJson, Tollgate } from "@tollgate/core"
import type { Request, RequestHandler, Response } from "express"

export interface RequireApiKeyOptions {
  readonly account: string
  readonly bucket: string
  /** What a request uses, and in which metering bucket; without it, the key is verified and nothing is counted. */
  readonly metering?: { readonly bucketId: string; readonly meters: Readonly<Record<string, number>> }
  /** Where the key is: `Authorization: Bearer`, unless a header or a query parameter is named. */
  readonly from?: { readonly header: string } | { readonly query: string }
}

/** Who is calling, as a protected route finds it in `req.consumer`. */
export interface RequestConsumer {
  /** The consumer's name. */
  readonly sub: string
  readonly id: string
  readonly keyId: string
  readonly tags: Readonly<Record<string, string | number | boolean>>
  readonly metadata: Readonly<Record<string, unknown>>
  /** What is left of the meters that were used. */
  readonly remaining: Readonly<Record<string, number>>
}

declare global {
  namespace Express {
    interface Request {
      consumer?: RequestConsumer
    }
  }
}

const keyIn = (req: Request, from: RequireApiKeyOptions["from"]): string => {
  if (from === undefined) return /^Bearer +(\S+) *$/i.exec(req.get("authorization") ?? "")?.[1] ?? ""
  if ("header" in from) return req.get(from.header) ?? ""
  const given = req.query[from.query]
  return typeof given === "string" ? given : ""
}

const refuse = (res: Response, status: number, type: string, title: string, detail: string): void => {
  res.status(status).type("application/problem+json")
  res.send(JSON.stringify({ type: `urn:tollgate:problem:${type}`, title, status, detail }))
}

const secondsUntil = (moment: string): number => Math.max(1, Math.ceil((Date.parse(moment) - Date.now()) / 1000))

const answerRefusal = (res: Response, refusal: Extract<AuthorizationJson, { readonly allowed: false }>): void => {
  switch (refusal.reason) {
    case "invalid-key":
      res.setHeader("WWW-Authenticate", "Bearer")
      refuse(res, 401, "unauthorized", "Not authenticated", "Send a valid API key")
      break
    case "over-quota": {
      const seconds = secondsUntil(refusal.resetsOn)
      res.setHeader("Retry-After", String(seconds))
      res.setHeader("RateLimit", `"${refusal.meter}";r=0;t=${seconds}`)
      refuse(res, 429, "quota-exceeded", "The quota is used up", `It resets on ${refusal.resetsOn}`)
      break
    }
    default:
      refuse(res, 403, "subscription-not-active", "No active subscription", "Subscribe, or settle what is due")
  }
}

const allow = (req: Request, res: Response, allowed: Extract<AuthorizationJson, { readonly allowed: true }>): void => {
  const { consumer, keyId, quotas } = allowed
  const meters = Object.entries(quotas?.meters ?? {})
  req.consumer = {
    sub: consumer.name,
    id: consumer.id,
    keyId,
    tags: consumer.tags,
    metadata: consumer.metadata,
    remaining: Object.fromEntries(meters.map(([meter, { remaining }]) => [meter, remaining]))
  }
  if (quotas === undefined) return
  const reset = secondsUntil(quotas.resetsOn)
  res.setHeader("RateLimit", meters.map(([meter, { remaining }]) => `"${meter}";r=${remaining};t=${reset}`).join(", "))
}

/**
 * @example
 * ```ts
 * app.get("/hello", requireApiKey(gate, { account: "acme", bucket: "production" }), (req, res) => {
 *   res.send(`Hello, ${req.consumer?.sub}`)
 * })
 * ```
 */
export const requireApiKey =
  (gate: Tollgate, { account, bucket, metering, from }: RequireApiKeyOptions): RequestHandler =>
  async (req, res, next) => {
    try {
      const asked = { account, bucket, key: keyIn(req, from) }
      const answer = await gate.authorize(metering === undefined ? asked : { ...asked, metering })
      if (!answer.allowed) return answerRefusal(res, answer)
      allow(req, res, answer)
    } catch (error) {
      return next(error)
    }
    next()
  }
