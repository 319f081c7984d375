import type { AccountsApi } from "../../../accounts/AccountsApi.ts"
import type { AccessApi } from "../../../api/AccessApi.ts"
import type { DecisionsApi } from "../../../authorize/DecisionsApi.ts"
import type { ConsumersApi } from "../../../consumers/ConsumersApi.ts"
import type { KeyBucketsApi } from "../../../keys/KeyBucketsApi.ts"
import type { KeysApi } from "../../../keys/KeysApi.ts"
import type { ApiKeyJson } from "../../../records/ApiKey.ts"
import type { ConsumerJson } from "../../../records/Consumer.ts"
import type { SearchApi } from "../../../search/SearchApi.ts"
import {
  created,
  createdPageOf,
  exampleDigest,
  exampleId,
  exampleTokenId,
  generatedDates,
  otherExampleId,
  pageOf,
  updated
} from "./common.ts"
import type { GroupExamples } from "./Examples.ts"

/** Abbreviated, so that no scanner takes it for a secret. */
const visibleKey = "tg_…"

const keyInput = { description: "Production", scopes: ["orders:read"] }
const owner = { consumerName: "alice", keyBucketName: "production" }
const createdKey: ApiKeyJson = { id: exampleId("key"), ...owner, ...generatedDates, ...keyInput, key: visibleKey }
const key: ApiKeyJson = { ...createdKey, lastUsedOn: updated, key: "****k3Qw" }
const { key: _, ...keyWithoutValue } = createdKey

const consumerInput = {
  name: "alice",
  description: "Alice's shop",
  tags: { tier: "gold" },
  metadata: { contact: { language: "en" } }
}
export const alice: ConsumerJson = { id: exampleId("csmr"), ...generatedDates, ...consumerInput }

export const access: GroupExamples<typeof AccessApi> = {
  me: { response: { accountName: "acme", access: "write", id: exampleTokenId } }
}

export const accounts: GroupExamples<AccountsApi> = {
  list: { response: pageOf({ name: "acme", createdOn: created }) },
  get: {
    response: {
      name: "acme",
      recordBytes: { used: 1_048_576, max: 2_147_483_648 }
    }
  }
}

export const search: GroupExamples<typeof SearchApi> = {
  find: {
    response: {
      data: [
        { type: "consumer", id: alice.id, name: "alice", keyBucketName: "production", matched: "name" },
        { type: "customer", id: "alice", meteringBucketId: exampleId("bckt"), matched: "customerKey" }
      ]
    }
  }
}

export const keyBuckets: GroupExamples<typeof KeyBucketsApi> = {
  list: { response: pageOf({ name: "production", createdOn: created }) }
}

export const consumers: GroupExamples<typeof ConsumersApi> = {
  list: { response: pageOf(alice) },
  create: {
    request: { ...consumerInput, managers: ["owner@example.com"], apiKeys: [keyInput] },
    response: { ...alice, apiKeys: [createdKey] }
  },
  get: { response: alice },
  update: {
    request: { tags: { tier: "platinum" } },
    response: { ...alice, tags: { tier: "platinum" }, updatedOn: updated }
  },
  rollKey: {
    request: { expiresOn: "2026-12-16T00:00:00Z" },
    response: { id: otherExampleId("key"), ...owner, ...generatedDates, scopes: ["orders:read"], key: visibleKey }
  }
}

export const keys: GroupExamples<typeof KeysApi> = {
  list: { response: pageOf(key) },
  create: { request: keyInput, response: createdKey },
  createMany: {
    request: [keyInput, { description: "Staging", expiresOn: "2027-01-01T00:00:00Z" }],
    response: createdPageOf(createdKey, {
      id: otherExampleId("key"),
      ...owner,
      ...generatedDates,
      description: "Staging",
      expiresOn: "2027-01-01T00:00:00.000Z",
      key: visibleKey
    })
  },
  import: {
    request: { keys: [{ ...keyInput, hash: exampleDigest, algorithm: "sha256", suffix: "k3Qw" }] },
    response: createdPageOf(keyWithoutValue)
  },
  get: { response: key },
  find: { response: key },
  update: { request: { disabled: true }, response: { ...key, disabled: true, updatedOn: updated } },
  verify: {
    request: { key: visibleKey, ip: "203.0.113.7" },
    response: {
      valid: true,
      consumer: { id: alice.id, name: alice.name, tags: consumerInput.tags, metadata: consumerInput.metadata },
      keyId: key.id,
      scopes: keyInput.scopes
    }
  }
}

const subscriptionId = exampleId("sbsc")

export const decisions: GroupExamples<typeof DecisionsApi> = {
  authorize: {
    request: {
      key: visibleKey,
      scopes: ["orders:read"],
      rateLimits: [{ name: "steady", limit: 10, per: "second" }],
      metering: { meteringBucketId: exampleId("bckt"), meters: { requests: 1 } },
      ip: "203.0.113.7"
    },
    response: {
      allowed: true,
      consumer: { id: alice.id, name: alice.name, tags: consumerInput.tags, metadata: consumerInput.metadata },
      keyId: key.id,
      scopes: keyInput.scopes,
      subscription: {
        id: subscriptionId,
        status: "active",
        planIds: [exampleId("plan")],
        subscriptionExternalId: "sub_1",
        customerExternalId: "cus_1"
      },
      quotas: {
        meters: { requests: { max: 1000, used: 13, remaining: 987 } },
        periodStart: "2026-11-01T00:00:00.000Z",
        resetsOn: "2026-12-01T00:00:00.000Z"
      },
      rateLimits: [{ name: "steady", limit: 10, per: 1000, burst: 10, remaining: 9, resetAfterMs: 100 }],
      status: 200,
      headers: {
        "ratelimit-policy": '"steady";q=10;w=1, "requests";q=1000;w=2592000',
        ratelimit: '"steady";r=9;t=1, "requests";r=987;t=1036800'
      }
    }
  }
}
