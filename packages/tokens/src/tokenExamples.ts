import { created, exampleId, type GroupExamples, generatedDates, pageOf, updated } from "@tollgate/core/module"
import type { SessionJson, TokenJson } from "./Token.ts"
import type { AllSessionsApi, SessionsApi, TokensApi } from "./TokensApi.ts"

const input = { description: "CI", permissions: ["deployments:write"] }
const token: TokenJson = { id: exampleId("tok"), ...generatedDates, ...input }

/** Examples of the bodies of tokens. The value is abbreviated, so that no scanner takes it for a secret. */
export const tokenExamples: GroupExamples<typeof TokensApi> = {
  list: { response: pageOf(token) },
  create: { request: input, response: { ...token, token: "tgm_…" } },
  get: { response: token },
  update: {
    request: { permissions: ["deployments:read"] },
    response: { ...token, permissions: ["deployments:read"], updatedOn: updated }
  }
}

const session: SessionJson = {
  id: exampleId("ses"),
  name: "ann@example.com",
  access: "write",
  permissions: ["support"],
  createdOn: created,
  expiresOn: "2026-11-16T10:30:00.000Z"
}

/** Examples of the bodies of sessions. */
export const sessionExamples: GroupExamples<typeof SessionsApi> = { list: { response: pageOf(session) } }
export const allSessionsExamples: GroupExamples<typeof AllSessionsApi> = { list: { response: pageOf(session) } }
