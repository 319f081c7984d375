/** How answers are encoded: what services give was checked when it came in, or when it was read from the store. */
export const encodeOptions = { disableChecks: true } as const
