import { useRef } from "preact/hooks"
import { makeRandomId } from "./makeRandomId.ts"

/**
 * The keys of a form's creates: the same key for the same body, so that a repeated attempt after a lost response creates
 * nothing twice.
 */
export const useIdempotencyKey = (): ((body: unknown) => string) => {
  const last = useRef<{ readonly body: string; readonly key: string }>(undefined)
  return (body) => {
    const text = JSON.stringify(body)
    if (last.current?.body !== text) last.current = { body: text, key: makeRandomId() }
    return last.current.key
  }
}
