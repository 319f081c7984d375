/** A status, and what follows it at the end of the period. */
export const printStatus = (
  status: string,
  change?: { readonly at: number; readonly plan?: string; readonly status?: string }
): string =>
  change === undefined ? status : `${status}, ${change.plan ?? change.status} on ${new Date(change.at).toISOString()}`
