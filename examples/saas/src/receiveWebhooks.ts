/**
 * Receives webhooks that follow Standard Webhooks, as those of Tollgate and of many payment providers do.
 */
import express, { type RequestHandler } from "express"
import { Webhook } from "standardwebhooks"

export const receiveWebhooks = <Event>(secret: string, handle: (event: Event) => unknown): Array<RequestHandler> => [
  express.raw({ type: "application/json" }), // the signature is over the bytes of the body
  async (req, res) => {
    let event: Event
    try {
      event = new Webhook(secret).verify(req.body, req.headers as Record<string, string>) as Event
    } catch {
      return void res.sendStatus(400)
    }
    await handle(event)
    res.sendStatus(204) // only now: after an error the sender tries again
  }
]
