/**
 * The message of the Node binding's error for a body that a parser has already consumed (`TakenApart`). Messages of other
 * stream errors may come from third-party code and are not shown to clients.
 */
export const bodyErrorMessage = (error: unknown, fallback: string): string =>
  error instanceof Error && error.name === "TakenApart" ? error.message : fallback
