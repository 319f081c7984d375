/**
 * Saves an edit that is based on a version. If another tab or program has changed the item meanwhile, it reads the item
 * again, so that the person can compare both.
 */
import { useState } from "preact/hooks"
import { ApiError } from "../api/ApiError.ts"
import { request } from "../api/request.ts"

export interface VersionedEdit<A> {
  /** What the edit is based on: as it was read first, or again after a conflict. */
  readonly base: A
  /** What is on the server now, if it differs from what the edit is based on. */
  readonly theirs: A | undefined
  /** Returns whether it was saved; afterwards `theirs` is set if it was not. */
  readonly save: (body: unknown) => Promise<boolean>
  /** Ends the conflict: the next save replaces what is on the server. */
  readonly resolve: () => void
}

export const useVersionedEdit = <A>(
  path: string,
  initial: { readonly value: A; readonly version: string | undefined }
): VersionedEdit<A> => {
  const [base, setBase] = useState(initial)
  const [theirs, setTheirs] = useState<A>()
  const save = async (body: unknown): Promise<boolean> => {
    try {
      await request("PATCH", path, { body, version: base.version })
      setTheirs(undefined)
      return true
    } catch (error) {
      if (!(error instanceof ApiError) || error.problem.status !== 412) throw error
      const current = await request<A>("GET", path)
      setBase(current)
      setTheirs(current.value)
      return false
    }
  }
  return { base: base.value, theirs, save, resolve: () => setTheirs(undefined) }
}
