/**
 * A gate of which everything that has metrics was used, and how Prometheus reads them.
 */
import type { Tollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { expect } from "vitest"
import { respondWith, startReceiver } from "../../../webhooks/test/receivers.ts"
import { tokens } from "../secrets.ts"
import { startGate } from "./gates.ts"

export const scrape = (gate: Tollgate, token: string | undefined = tokens.admin, method = "GET") =>
  gate.handler(
    new Request("http://gate/metrics", {
      method,
      headers: token === "" ? {} : { authorization: `Bearer ${token}` }
    })
  )

/** Uses everything that has metrics. */
export const useAll = async (store: StoreOperations) => {
  const gate = await startGate({
    store,
    verifyCache: { ttl: 1_000 },
    onEvent: () => undefined
  })
  const acme = gate.account("acme")
  const receiver = await startReceiver(respondWith(204))
  const webhook = await acme.webhooks.create({ url: receiver.url, events: ["consumer.created"] })
  const production = acme.keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  await production.authorize(apiKeys?.[0]?.key)
  const { deployments } = acme.project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: "main" })
  await deployments.upload(uploadUrl, new TextEncoder().encode("a source"))
  await scrape(gate)
  await eventually(async () => {
    const text = await gate.metrics()
    for (const name of ["tollgate_deployments_total", "tollgate_hooks_calls_total", "tollgate_jobs_total"])
      expect(text).toContain(name)
    expect((await acme.webhooks.deliveries(webhook.id)).data[0]?.status).toBe("succeeded")
  })
  return gate
}
