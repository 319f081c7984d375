import { created, exampleId, type GroupExamples, pageOf } from "@tollgate/core/module"
import type { DecisionLogApi, RefusalPageJson } from "./DecisionLogApi.ts"
import type { RefusalJson } from "./Refusal.ts"

const ofConsumer: RefusalJson = {
  on: created,
  reason: "disabled-key",
  count: 3,
  requestIds: ["8d0f9c1e2b3a4c5d6e7f80", "1a2b3c4d5e6f708192a3b4", "0f1e2d3c4b5a69788796a5"],
  keyId: exampleId("key"),
  consumerName: "alice",
  route: "GET /orders/:id",
  ip: "203.0.113.7"
}

const ofUnknownKey: RefusalJson = {
  on: created,
  reason: "unknown-key",
  count: 1,
  requestIds: ["5b6c7d8e9f0a1b2c3d4e5f"],
  ip: "203.0.113.9",
  keyHint: "q83vEjRWeJA0 ****x7Qp"
}

const toPage = (...data: ReadonlyArray<RefusalJson>): RefusalPageJson => ({
  ...pageOf(...data),
  kept: { since: "2026-11-09T09:30:00.000Z" }
})

/** Examples of the bodies of decisions. */
export const decisionExamples: GroupExamples<typeof DecisionLogApi> = {
  list: { response: toPage(ofConsumer, ofUnknownKey) },
  listOfConsumer: { response: toPage(ofConsumer) },
  outcomes: {
    response: {
      step: "day",
      from: "2026-11-16T00:00:00.000Z",
      to: "2026-11-17T00:00:00.000Z",
      data: [
        {
          start: "2026-11-16T00:00:00.000Z",
          end: "2026-11-17T00:00:00.000Z",
          allowed: 4_210,
          refused: { "disabled-key": 3, "rate-limited": 12 }
        }
      ]
    }
  }
}
