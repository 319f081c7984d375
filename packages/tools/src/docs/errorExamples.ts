/** Examples of errors, made from the declarations. */
import { Schema } from "effect"
import type { ErrorClass } from "./errorClasses.ts"
import { makeExampleOf } from "./makeExample.ts"

/** The members that every problem has. */
const problemMembers = ["type", "title", "status", "detail", "instance", "code"]

/** Members whose example is not made from the schema, by code. */
const samples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "bad-request": { errors: [{ pointer: "/name", detail: "is required" }] },
  configuration: { option: "limits.projectsPerAccount", problem: "must be a positive integer" },
  "invalid-webhook-url": { problem: 'the host "hooks.example" does not exist' },
  "limit-reached": { limit: "webhooksPerAccount", max: 20 },
  "missing-scope": { scopes: ["orders:write"] },
  "missing-feature": { features: ["exports"] },
  "rate-limited": { limit: "steady" },
  "reservation-limit": { max: 1_000 },
  "store-copy": { reason: "target-not-empty", problem: "the target is not empty" },
  "store-open": {
    location: "SQLite database /data/tollgate.db",
    problem: "it is not a SQLite database, or it is corrupt",
    remedy: "Restore a backup, or pass another path"
  },
  "subscription-not-active": { subscriptionStatus: "canceled" }
}

/** The fields of an error class beside those of every problem. */
export const getMembers = ({ fields }: ErrorClass): Schema.Struct.Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !problemMembers.includes(name)))

/** An error made from an example of its members. */
export const makeErrorExample = (errorClass: ErrorClass): Error => {
  const members = Schema.Struct(getMembers(errorClass))
  const sample = { ...makeExampleOf(members), ...samples[errorClass.documentation.code] }
  const decode = Schema.decodeUnknownSync(members as unknown as Schema.Codec<object>)
  return new errorClass(decode(sample))
}
