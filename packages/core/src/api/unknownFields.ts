/**
 * Rejects unknown properties: a mistyped filter must not list everything, a mistyped `ifTags` must not be ignored. All
 * endpoints do.
 */
export const rejectUnknown = { onExcessProperty: "error" } as const

/** For `HttpApi.QueryParseOptions` of an endpoint that ignores parameters which it does not know. */
export const ignoreUnknown = { onExcessProperty: "ignore" } as const
