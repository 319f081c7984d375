import { Schema } from "effect"

/** The DNS says that the name does not exist. */
export class HostNotFound extends Schema.TaggedError<HostNotFound>()("HostNotFound", {}) {}

/** The DNS does not answer, or its server fails. A later attempt can succeed. */
export class ResolutionFailed extends Schema.TaggedError<ResolutionFailed>()("ResolutionFailed", {}) {}

export type ResolutionError = HostNotFound | ResolutionFailed

/** This process resolves as many names as it may. Nobody was asked for this one, so it says nothing about the host. */
export class ResolverBusy extends Schema.TaggedError<ResolverBusy>()("ResolverBusy", {}) {}

export const getErrorCode = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

/** From an error of `node:dns`. */
export const toResolutionError = (error: unknown): ResolutionError => {
  const code = getErrorCode(error)
  return code === "ENOTFOUND" || code === "EBADNAME" ? new HostNotFound() : new ResolutionFailed()
}
