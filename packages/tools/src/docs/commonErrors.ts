/** Errors that many operations have in common. The generated page lists them once. */
import { linkTo } from "./markdown.ts"
import { getErrorCodes, type Operation, operations } from "./openApiDocument.ts"

export interface CommonErrors {
  /** Which operations have them, as the subject of a sentence. */
  readonly subject: string
  readonly includes: (operation: Operation) => boolean
  readonly codes: ReadonlyArray<string>
}

const subjects: ReadonlyArray<Omit<CommonErrors, "codes">> = [
  { subject: "An operation that needs a token", includes: ({ security }) => security.length > 0 },
  {
    subject: "One with a JSON body",
    includes: ({ requestBody }) => "application/json" in (requestBody?.content ?? {})
  },
  {
    subject: "One with an `Idempotency-Key`",
    includes: ({ parameters }) => parameters.some(({ name }) => name === "Idempotency-Key")
  }
]

/** The errors that all of these operations have. */
const intersect = ([first = [], ...rest]: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  first.filter((code) => rest.every((codes) => codes.includes(code)))

const getCodes = ({ includes }: Pick<CommonErrors, "includes">): ReadonlyArray<string> =>
  intersect(operations.filter(includes).map(getErrorCodes))

/** Each code is listed at the first subject that has it. */
export const commonErrors: ReadonlyArray<CommonErrors> = subjects.map((subject, index) => {
  const listed = subjects.slice(0, index).flatMap(getCodes)
  return { ...subject, codes: getCodes(subject).filter((code) => !listed.includes(code)) }
})

export const formatErrorLinks = (codes: ReadonlyArray<string>): string =>
  codes.map((code) => linkTo(code, "errors.md")).join(", ")
