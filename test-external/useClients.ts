/**
 * Uses the clients that generators make of the OpenAPI document. It is compiled and never run.
 */
import createFetchClient from "openapi-fetch"
import { consumersCreate, type UsageSeries } from "./generated/hey/index.js"
import * as orval from "./generated/orval.js"
import type { components, paths } from "./generated/types.js"

const account = { accountName: "acme", bucketName: "production" }
const consumer = { name: "alice", metadata: { a: 1, nested: { list: [null] } }, tags: { plan: "pro", size: 2 } }
const data: components["schemas"]["Event"]["data"] = { id: "csmr_1", metadata: { a: 1 } }

const client = createFetchClient<paths>({ baseUrl: "http://localhost:3000" })
const created = await client.POST("/v1/accounts/{accountName}/key-buckets/{bucketName}/consumers", {
  params: { path: account, query: { "key-format": "none" } },
  body: consumer
})
export const id: string | undefined = created.data?.id

const { data: sameConsumer } = await consumersCreate({ path: account, body: consumer })
export const metadata: unknown = sameConsumer?.metadata?.["a"]
export const step: UsageSeries["step"] = "period"

const response = await orval.consumersCreate(account.accountName, account.bucketName, { ...consumer, metadata: data })
export const status: number = response.status
export const sameStep: orval.UsageStep = "hour"
