/** Managers as they are typed: one per line. */

/** Users whose subject is known, or e-mail addresses. The API takes one of the two. */
export type ManagerKind = "emails" | "subjects"

type Managers = ReadonlyArray<string> | ReadonlyArray<{ readonly sub: string; readonly email?: string }>

interface ParsedManagers {
  readonly value: Managers
  readonly error: string | undefined
}

const isEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text)

export const parseManagers = (kind: ManagerKind, text: string): ParsedManagers => {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  if (kind === "emails") {
    const wrong = lines.find((line) => !isEmail(line))
    return { value: lines, error: wrong === undefined ? undefined : `“${wrong}” is not an e-mail address.` }
  }
  const managers = lines.map((line) => line.split(/[\s,]+/))
  const wrong = managers.find(([, email, ...rest]) => rest.length > 0 || (email !== undefined && !isEmail(email)))
  return {
    value: managers.map(([sub = "", email]) => (email === undefined ? { sub } : { sub, email })),
    error:
      wrong === undefined ? undefined : `“${wrong.join(" ")}”: write a subject, and its e-mail address if you like.`
  }
}
