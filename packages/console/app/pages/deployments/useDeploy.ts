/**
 * Deploys a source: packs it, asks if it is probably too large, uploads it. What was chosen is kept when a step fails, so
 * that the person can try again.
 */

import { ApiError, type Problem, toProblem } from "@tollgate/ui/api/ApiError.ts"
import { request } from "@tollgate/ui/api/request.ts"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { makeRandomId } from "@tollgate/ui/data/makeRandomId.ts"
import { useLeaveWarning } from "@tollgate/ui/data/useLeaveWarning.ts"
import { useEffect, useRef, useState } from "preact/hooks"
import { checkArchive, checkFolder, getFolderBytes } from "./archive/limits.ts"
import { packFolder } from "./archive/packFolder.ts"
import { type Folder, type Source, SourceError } from "./archive/Source.ts"
import type { BranchJson } from "./types.ts"
import { getStatusId, uploadArchive } from "./uploadArchive.ts"

export type DeployState =
  | { readonly phase: "ready" }
  | { readonly phase: "packing"; readonly packedBytes: number; readonly totalBytes: number }
  | { readonly phase: "too-large"; readonly reason: string; readonly goOn: () => void }
  | { readonly phase: "uploading"; readonly sentBytes: number; readonly totalBytes: number }
  | { readonly phase: "failed"; readonly problem: Problem; readonly retry: (() => void) | undefined }
  | { readonly phase: "uploaded"; readonly branch: BranchJson; readonly statusId: string }

interface Task {
  readonly source: Source
  readonly branch: BranchJson
  readonly idempotencyKey: string
  readonly isSizeAccepted: boolean
  /** Once it is packed. */
  readonly archive: Blob | undefined
}

export interface Deploy {
  readonly state: DeployState
  /** What is being deployed, or was last. */
  readonly source: Source | undefined
  readonly isBusy: boolean
  readonly start: (source: Source) => void
  readonly cancel: () => void
}

const hasCode = (error: unknown, code: string): boolean => error instanceof ApiError && error.problem.code === code

const toSourceProblem = (error: SourceError): Problem => ({
  status: 0,
  code: "source",
  title: "This cannot be deployed",
  detail: error.message,
  requestId: undefined,
  issues: []
})

/** `getBranch` returns the branch that is entered now, or `undefined` if it is not valid. */
export const useDeploy = (getBranch: () => BranchJson | undefined): Deploy => {
  const getCurrentBranch = useRef(getBranch)
  getCurrentBranch.current = getBranch
  const [state, setState] = useState<DeployState>({ phase: "ready" })
  const [source, setSource] = useState<Source>()
  const running = useRef<AbortController>(undefined)

  const perform = async (task: Task, signal: AbortSignal): Promise<void> => {
    const show = (next: DeployState): void => {
      if (!signal.aborted) setState(next)
    }
    const { source, branch, isSizeAccepted, idempotencyKey } = task
    const askForSize = (reason: string, archive: Blob | undefined): void =>
      show({
        phase: "too-large",
        reason,
        goOn: () => again({ ...task, archive, isSizeAccepted: true })
      })
    const pack = async (folder: Folder): Promise<Blob | undefined> => {
      show({ phase: "packing", packedBytes: 0, totalBytes: 0 })
      const totalBytes = await getFolderBytes(folder)
      signal.throwIfAborted()
      const tooLarge = isSizeAccepted ? undefined : checkFolder(folder, totalBytes)
      if (tooLarge !== undefined) return void askForSize(tooLarge, undefined)
      const onProgress = (packedBytes: number): void => show({ phase: "packing", packedBytes, totalBytes })
      return packFolder(folder, { signal, onProgress })
    }
    const archive = task.archive ?? (source.kind === "archive" ? source.file : await pack(source))
    if (archive === undefined) return
    const tooLarge = isSizeAccepted ? undefined : checkArchive(source.name, archive.size)
    if (tooLarge !== undefined) return askForSize(tooLarge, archive)
    show({ phase: "uploading", sentBytes: 0, totalBytes: archive.size })
    const { value } = await request<{ readonly uploadUrl: string }>("POST", "/v1/deployments/sources", {
      body: branch,
      idempotencyKey,
      signal
    })
    signal.throwIfAborted()
    await uploadArchive(value.uploadUrl, archive, {
      signal,
      onProgress: (sentBytes) => show({ phase: "uploading", sentBytes, totalBytes: archive.size })
    }).catch((error) => {
      // An earlier attempt arrived, and its response was lost.
      if (!hasCode(error, "already-uploaded")) throw error
    })
    show({ phase: "uploaded", branch, statusId: getStatusId(value.uploadUrl) })
  }

  const run = async (task: Task): Promise<void> => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setSource(task.source)
    try {
      await perform(task, controller.signal)
    } catch (error) {
      if (controller.signal.aborted) return
      // The upload URL has expired: the next attempt needs another one.
      const idempotencyKey = hasCode(error, "upload-forbidden") ? makeRandomId() : task.idempotencyKey
      const isSourceWrong = error instanceof SourceError
      setState({
        phase: "failed",
        problem: isSourceWrong ? toSourceProblem(error) : toProblem(error),
        retry: isSourceWrong ? undefined : () => again({ ...task, idempotencyKey })
      })
    }
  }

  /** To the branch that is entered by then, which may be another one. */
  const again = (task: Task): void => {
    const branch = getCurrentBranch.current()
    if (branch === undefined) return
    const isSame = JSON.stringify(branch) === JSON.stringify(task.branch)
    void run({ ...task, branch, idempotencyKey: isSame ? task.idempotencyKey : makeRandomId() })
  }

  const cancel = (): void => {
    running.current?.abort()
    setState({ phase: "ready" })
  }
  const isBusy = state.phase === "packing" || state.phase === "uploading"
  const isBusyNow = useRef(isBusy)
  isBusyNow.current = isBusy
  useEffect(
    () => () => {
      running.current?.abort()
      if (isBusyNow.current) showToast("The upload was cancelled, because you left its page.")
    },
    []
  )
  useLeaveWarning(isBusy)
  return {
    state,
    source,
    isBusy,
    start: (source) => {
      const branch = getBranch()
      if (branch === undefined) return
      void run({ source, branch, archive: undefined, isSizeAccepted: false, idempotencyKey: makeRandomId() })
    },
    cancel
  }
}
