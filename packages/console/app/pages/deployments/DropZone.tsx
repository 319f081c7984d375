import { Button } from "@tollgate/ui/components/Button.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { useEffect, useRef, useState } from "preact/hooks"
import { limitsText } from "./archive/limits.ts"
import { getDroppedEntries, readDrop } from "./archive/readDrop.ts"
import { readFileList } from "./archive/readFileList.ts"
import { type Source, toSource } from "./archive/Source.ts"

export interface DropZoneProps {
  readonly disabled: boolean
  readonly onSource: (source: Source) => void
}

const preventDefault = (event: Event): void => event.preventDefault()

/** A drop that misses the zone would make the browser leave the console to show the file. */
const useIgnoredDrops = (): void =>
  useEffect(() => {
    addEventListener("dragover", preventDefault)
    addEventListener("drop", preventDefault)
    return () => {
      removeEventListener("dragover", preventDefault)
      removeEventListener("drop", preventDefault)
    }
  }, [])

/** Takes a folder or an archive: dropped, or chosen with a button. */
export const DropZone = ({ disabled, onSource }: DropZoneProps) => {
  const [isOver, setIsOver] = useState(false)
  const [problem, setProblem] = useState<string>()
  const folderInput = useRef<HTMLInputElement>(null)
  const archiveInput = useRef<HTMLInputElement>(null)

  useIgnoredDrops()

  const take = async (read: () => Source | Promise<Source>): Promise<void> => {
    setProblem(undefined)
    try {
      onSource(await read())
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const takeFiles = (input: HTMLInputElement, read: (files: ReadonlyArray<File>) => Source): void => {
    const files = [...(input.files ?? [])]
    // So that choosing the same again is a change.
    input.value = ""
    if (files.length > 0) void take(() => read(files))
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setIsOver(false)
    const items = event.dataTransfer?.items
    if (disabled || items === undefined) return
    const entries = getDroppedEntries(items)
    void take(() => readDrop(entries))
  }
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is for pointers; the buttons do the same */}
      <div
        class={`drop-zone${isOver ? " over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(!disabled)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <p>Drop a folder or a .tar.gz archive here, or</p>
        <div class="form-actions">
          <Button disabled={disabled} onClick={() => folderInput.current?.click()}>
            Choose a folder
          </Button>
          <Button disabled={disabled} onClick={() => archiveInput.current?.click()}>
            Choose an archive
          </Button>
        </div>
        <input
          ref={folderInput}
          type="file"
          hidden
          // The types of Preact lack it.
          {...{ webkitdirectory: true }}
          onChange={(event) => takeFiles(event.currentTarget, readFileList)}
        />
        <input
          ref={archiveInput}
          type="file"
          hidden
          accept=".tar.gz,.tgz,application/gzip"
          onChange={(event) => takeFiles(event.currentTarget, ([file]) => toSource(file as File))}
        />
        <p class="hint">{limitsText} The page of the site is its index.html.</p>
      </div>
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
    </>
  )
}
