/** Skips schema checks when encoding: results were validated as input, or when they were read from the store. */
export const skipChecks = { disableChecks: true } as const
