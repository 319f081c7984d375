/** A binding cannot give the body as it was sent, for example because a parser has read it. Clients see the message. */
export class BodyNotRestorableError extends Error {
  override readonly name = "BodyNotRestorableError"
}

/** The message to show to clients. Other stream errors may come from third-party code: their messages are not shown. */
export const bodyErrorMessage = (error: unknown, fallback: string): string =>
  error instanceof BodyNotRestorableError ? error.message : fallback
