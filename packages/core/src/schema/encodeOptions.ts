/** Skips schema checks when encoding: results were validated as input, or when they were read from the store. */
export const encodeOptions = { disableChecks: true } as const
