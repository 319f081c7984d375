import { Effect } from "effect"
import { defineError } from "../errors/defineError.ts"

/** The resource is not at any of the versions that the caller expects. */
export class VersionMismatch extends defineError<VersionMismatch>()("VersionMismatch", {
  code: "precondition-failed",
  status: 412,
  title: "Precondition failed",
  meaning: "The resource has changed since you read it: its version is not the one in `If-Match`.",
  remedy: "Read the resource again, apply your change to it and repeat the request with the new `ETag`.",
  detail: () => "The resource has changed since you read it. Read it again and retry.",
  schemaName: "PreconditionFailedProblem"
}) {}

/** Fails if `ifMatch` is set and does not contain the resource's version. */
export const checkVersion = (
  { version }: { readonly version: number },
  ifMatch: ReadonlyArray<number> | undefined
): Effect.Effect<void, VersionMismatch> =>
  ifMatch === undefined || ifMatch.includes(version) ? Effect.void : Effect.fail(new VersionMismatch())
