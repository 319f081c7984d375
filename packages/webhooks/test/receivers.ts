/**
 * Receivers of webhooks on 127.0.0.1, and gates that may send to them. Both are closed when the test ends.
 */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { createTollgate, type EventJson, type TollgateOptions } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { StoreWithContents } from "@tollgate/store"
import { type WebhookOptions, webhooks } from "@tollgate/webhooks"
import { Effect, Stream } from "effect"
import { Webhook } from "standardwebhooks"
import { onTestFinished } from "vitest"
import { grants, secret } from "../../core/test/secrets.ts"

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: EventJson & { readonly timestamp: string }
}

export type Respond = (response: ServerResponse, request: ReceivedRequest) => void

export const respondWith =
  (status: number, headers: Record<string, string> = {}): Respond =>
  (response) =>
    void response.writeHead(status, headers).end()

/** Leaves the request without a response. */
export const hang: Respond = () => undefined

/** Starts a receiver. Change `respond` to make it misbehave from then on. */
export const startReceiver = async (respond: Respond = respondWith(204)) => {
  const requests: Array<ReceivedRequest> = []
  const receiver = {
    url: "",
    respond,
    requests,
    /** The types of the events, in order of arrival. */
    types: () => requests.map(({ event }) => event.type),
    ids: () => requests.map(({ event }) => event.id)
  }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const received = { headers: request.headers, body, event: JSON.parse(body) }
    requests.push(received)
    receiver.respond(response, received)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  return receiver
}

/** Whether one of the signatures is valid for this secret. `verify` also rejects old times, which a moved clock signs. */
export const isSignedWith = (webhookSecret: string, { body, headers }: ReceivedRequest): boolean => {
  const time = new Date(Number(headers["webhook-timestamp"]) * 1_000)
  const expected = new Webhook(webhookSecret).sign(String(headers["webhook-id"]), time, body)
  return String(headers["webhook-signature"]).split(" ").includes(expected)
}

export const startGate = async (
  options: Partial<Omit<TollgateOptions, "modules">> = {},
  webhookOptions: WebhookOptions = { allowPrivateNetworks: true }
) => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: grants,
    modules: [webhooks(webhookOptions)],
    ...options
  })
  onTestFinished(() => gate.close())
  return gate
}

/** Everything in a store, as one text to search. */
export const dumpStore = async ({ contents }: StoreWithContents): Promise<string> =>
  JSON.stringify(await Effect.runPromise(Stream.runCollect(Stream.flatMap(contents.partitions, contents.read))))
