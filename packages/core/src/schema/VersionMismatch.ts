import { Effect, Schema } from "effect"

/** The resource is not at the version that the caller asked for. */
export class VersionMismatch extends Schema.TaggedError<VersionMismatch>()("VersionMismatch", {}) {
  override get message(): string {
    return "The resource has changed since it was read; read it again"
  }
}

/** Fails unless the caller named no version, or named this one. */
export const checkVersion = (
  { version }: { readonly version: number },
  ifMatch: ReadonlyArray<number> | undefined
): Effect.Effect<void, VersionMismatch> =>
  ifMatch === undefined || ifMatch.includes(version) ? Effect.void : Effect.fail(new VersionMismatch())
