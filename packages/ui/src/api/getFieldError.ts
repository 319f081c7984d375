import type { Problem } from "./ApiError.ts"

/** What is wrong with one field of the body, such as "url", to show it beside the field. */
export const getFieldError = (problem: Problem | undefined, field: string): string | undefined =>
  problem?.issues.find(({ pointer }) => pointer === `/${field}` || pointer?.startsWith(`/${field}/`))?.detail
