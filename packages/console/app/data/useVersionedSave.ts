/**
 * Saves an edit that is based on a version. When another tab or program has changed the item meanwhile (412), it reads the
 * item again, so that the person sees both and chooses.
 */
import { useRef, useState } from "preact/hooks"
import { ApiError } from "../api/ApiError.ts"
import type { Reply } from "../api/request.ts"
import { type Action, useAction } from "./useAction.ts"

export interface VersionedSave<A> {
  readonly action: Action<[]>
  /** The item as it is on the server now, if it was changed elsewhere. */
  readonly theirs: A | undefined
  readonly keepMine: () => void
  /** Continues from the server's version; the caller fills the form with it. */
  readonly takeTheirs: () => void
}

export interface VersionedSaveOptions<A> {
  /** The version that the form was filled with. */
  readonly version: string | undefined
  readonly read: () => Promise<Reply<A>>
  readonly save: (version: string | undefined) => Promise<void>
}

export const useVersionedSave = <A>({ version, read, save }: VersionedSaveOptions<A>): VersionedSave<A> => {
  const base = useRef(version)
  const [theirs, setTheirs] = useState<Reply<A>>()
  const action = useAction(async () => {
    try {
      await save(base.current)
    } catch (error) {
      if (!(error instanceof ApiError && error.problem.status === 412)) throw error
      setTheirs(await read())
    }
  })
  const accept = (): void => {
    base.current = theirs?.version
    setTheirs(undefined)
  }
  return {
    action,
    theirs: theirs?.value,
    keepMine: () => {
      accept()
      void action.run()
    },
    takeTheirs: accept
  }
}
