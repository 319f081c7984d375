/**
 * `tollgate`: `createTollgate`, its options, the JSON that it returns and the errors that it throws.
 */
export * from "@tollgate/core"
