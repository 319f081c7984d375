/**
 * Another program of yours: it receives events of Tollgate, and tells customers that a quota is nearly used up.
 */
import express from "express"
import type { EventJson } from "tollgate"
import { receiveWebhooks } from "./receiveWebhooks.ts"

export const createMailer = (secret: string, sendMail: (customer: string, text: string) => Promise<void>) => {
  const received = new Set<string>() // a webhook may arrive twice; yours is a table
  const onEvent = async ({ id, subject: { name = "" }, data }: EventJson) => {
    if (!received.has(id)) await sendMail(name, `You have used ${data["used"]} of ${data["max"]} ${data["meter"]}.`)
    received.add(id)
  }
  return express().post("/webhooks/tollgate", receiveWebhooks(secret, onEvent))
}
