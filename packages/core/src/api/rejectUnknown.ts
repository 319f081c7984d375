/** Rejects unknown properties: a mistyped filter must not list everything, a mistyped `ifTags` must not be ignored. */
export const rejectUnknown = { onExcessProperty: "error" } as const
