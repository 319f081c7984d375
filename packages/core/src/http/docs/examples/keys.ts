import type { ApiKeyJson } from "../../../records/ApiKey.ts"
import type { ConsumerJson } from "../../../records/Consumer.ts"
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
import type { AllExamples } from "./Examples.ts"

/** Abbreviated, so that no scanner takes it for a secret. */
const visibleKey = "tg_…"

const keyInput = { description: "Production", scopes: ["orders:read"] }
const createdKey: ApiKeyJson = { id: exampleId("key"), ...generatedDates, ...keyInput, key: visibleKey }
const key: ApiKeyJson = { ...createdKey, lastUsedOn: updated, key: "****k3Qw" }
const { key: _, ...keyWithoutValue } = createdKey

const consumerInput = {
  name: "alice",
  description: "Alice's shop",
  tags: { tier: "gold" },
  metadata: { contact: { language: "en" } }
}
export const alice: ConsumerJson = { id: exampleId("csmr"), ...generatedDates, ...consumerInput }

export const access: AllExamples["access"] = {
  me: { response: { accountName: "acme", access: "write", id: exampleTokenId } }
}

export const accounts: AllExamples["accounts"] = {
  list: { response: pageOf({ name: "acme", createdOn: created }) },
  get: {
    response: {
      name: "acme",
      recordBytes: { used: 1_048_576, max: 2_147_483_648 },
      deploymentBytes: { used: 52_428_800, max: 10_737_418_240 }
    }
  }
}

export const keyBuckets: AllExamples["keyBuckets"] = {
  list: { response: pageOf({ name: "production", createdOn: created }) }
}

export const consumers: AllExamples["consumers"] = {
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
    response: { id: otherExampleId("key"), ...generatedDates, scopes: ["orders:read"], key: visibleKey }
  }
}

export const keys: AllExamples["keys"] = {
  list: { response: pageOf(key) },
  create: { request: keyInput, response: createdKey },
  createMany: {
    request: [keyInput, { description: "Staging", expiresOn: "2027-01-01T00:00:00Z" }],
    response: createdPageOf(createdKey, {
      id: otherExampleId("key"),
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
  update: { request: { disabled: true }, response: { ...key, disabled: true, updatedOn: updated } },
  verify: {
    request: { key: visibleKey },
    response: {
      valid: true,
      consumer: { id: alice.id, name: alice.name, tags: consumerInput.tags, metadata: consumerInput.metadata },
      keyId: key.id,
      scopes: keyInput.scopes
    }
  }
}
