/** A binding cannot give the body as it was sent, for example because a parser has read it. Clients see the message. */
export class BodyConsumedError extends Error {
  override readonly name = "BodyConsumedError"
}

/** The message to show to clients. Other stream errors may come from third-party code: their messages are not shown. */
export const bodyErrorMessage = (error: unknown, fallback: string): string =>
  error instanceof BodyConsumedError ? error.message : fallback
