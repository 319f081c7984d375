/** What the bridge says of a body that it cannot give as it was sent; what a stream of somebody else's says is not told. */
export const bodyErrorMessage = (error: unknown, otherwise: string): string =>
  error instanceof Error && error.name === "TakenApart" ? error.message : otherwise
