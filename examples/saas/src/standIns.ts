/**
 * Stand for your payment provider and your language model.
 */
import { randomBytes } from "node:crypto"
import { Webhook } from "standardwebhooks"
import type { Payment } from "./app.ts"

export const paymentSecret = `whsec_${randomBytes(24).toString("base64")}`

/** What the provider does when the customer has paid: it sends a signed webhook. */
export const pay = (url: string, data: Payment["data"], secret = paymentSecret) => {
  const [id, now, body] = [`msg_${data.order}`, new Date(), JSON.stringify({ type: "order.paid", data })]
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signature = new Webhook(secret).sign(id, now, body)
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature }
  return fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body })
}

export const askModel = async (prompt: string) => ({ text: prompt.toUpperCase(), tokens: prompt.length })
