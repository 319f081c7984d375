/**
 * Disables and enables keys. The list shows the change at once, and takes it back if the server refuses it.
 */

import { type Problem, toProblem } from "@tollgate/ui/api/ApiError.ts"
import { request, toPath } from "@tollgate/ui/api/request.ts"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useRef, useState } from "preact/hooks"
import type { ApiKeyJson, PageJson } from "../../../api/types.ts"
import { getKeyName } from "./keyColumns.tsx"

export const useKeyToggle = (
  path: string,
  setKeys: (change: (page: PageJson<ApiKeyJson>) => PageJson<ApiKeyJson>) => void,
  onChange: () => void
) => {
  const [problem, setProblem] = useState<Problem>()
  const running = useRef(new Set<string>())
  const setDisabled = (id: string, disabled: boolean): void =>
    setKeys((page) => ({ ...page, data: page.data.map((key) => (key.id === id ? { ...key, disabled } : key)) }))
  const run = async (key: ApiKeyJson): Promise<void> => {
    const { id, disabled: wasDisabled = false } = key
    if (running.current.has(id)) return
    running.current.add(id)
    setProblem(undefined)
    setDisabled(id, !wasDisabled)
    try {
      await request("PATCH", toPath(path, id), { body: { disabled: !wasDisabled } })
      const toggled = { ...key, disabled: !wasDisabled }
      onChange()
      showToast(`${wasDisabled ? "Enabled" : "Disabled"} ${getKeyName(key)}`, () => void run(toggled))
    } catch (error) {
      setDisabled(id, wasDisabled)
      setProblem(toProblem(error))
    } finally {
      running.current.delete(id)
    }
  }
  return { run, problem }
}
