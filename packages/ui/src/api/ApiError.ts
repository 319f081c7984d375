import { fill, words } from "../words.ts"

/** One thing that is wrong in a request: a field of the body, or a parameter. */
export interface InputIssue {
  readonly pointer?: string
  readonly parameter?: string
  readonly detail: string
}

/** What a person needs to know about a request that failed. */
export interface Problem {
  /** 0 if the server cannot be reached. */
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly issues: ReadonlyArray<InputIssue>
}

export class ApiError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.title}: ${problem.detail}`)
    this.problem = problem
  }
}

const getText = (value: unknown, fallback: string): string =>
  typeof value === "string" && value !== "" ? value : fallback

/** Makes an error of a response; its body may come from a proxy and have any form. */
export const toApiError = async (response: Response): Promise<ApiError> => {
  const body: Record<string, unknown> = await response.json().catch(() => ({}))
  return new ApiError({
    status: response.status,
    code: getText(body?.["code"], "unknown"),
    title: getText(body?.["title"], fill(words.responseFailed, { status: String(response.status) })),
    detail: getText(body?.["detail"], words.noDetail),
    requestId: response.headers.get("x-request-id") ?? undefined,
    issues: Array.isArray(body?.["errors"]) ? body["errors"] : []
  })
}

export const unreachableError = new ApiError({
  status: 0,
  code: "unreachable",
  title: words.unreachable,
  detail: words.unreachableDetail,
  requestId: undefined,
  issues: []
})

/** What is wrong with what was entered, found before anything is sent. */
export class InputError extends ApiError {
  constructor(title: string, detail: string) {
    super({ status: 400, code: "input", title, detail, requestId: undefined, issues: [] })
  }
}

export const toProblem = (error: unknown): Problem =>
  error instanceof ApiError
    ? error.problem
    : {
        status: 0,
        code: "page",
        title: words.pageFailed,
        detail: error instanceof Error ? error.message : String(error),
        requestId: undefined,
        issues: []
      }
