import { Button } from "@tollgate/ui/components/Button.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { formatBytes, formatQuantity, formatShare } from "@tollgate/ui/format/numbers.ts"
import type { Source } from "./archive/Source.ts"
import type { Deploy } from "./useDeploy.ts"

const Progress = ({
  label,
  value,
  max,
  onCancel
}: {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly onCancel: () => void
}) => {
  const share = max === 0 ? 0 : Math.min(1, value / max)
  return (
    <div class="upload-progress">
      <span>
        {label}: {formatBytes(Math.min(value, max))} of {formatBytes(max)} ({formatShare(share)})
      </span>
      <progress aria-label={label} value={share} max={1} />
      <Button isSmall onClick={onCancel}>
        Cancel
      </Button>
    </div>
  )
}

const SourceNote = ({ source }: { readonly source: Source }) => (
  <p class="hint">
    {source.kind === "archive" ? source.name : `${source.name}: ${formatQuantity(source.entries.length, "file")}.`}
    {source.kind === "folder" && source.skipped.length > 0 && ` Skipped: ${source.skipped.join(", ")}.`}
  </p>
)

/** How far packing and uploading are, and what to decide on the way. */
export const DeployProgress = ({ deploy: { state, source, cancel } }: { readonly deploy: Deploy }) => (
  <>
    {state.phase !== "ready" && source !== undefined && <SourceNote source={source} />}
    {state.phase === "packing" && (
      <Progress label="Packing" value={state.packedBytes} max={state.totalBytes} onCancel={cancel} />
    )}
    {state.phase === "uploading" && (
      <Progress label="Uploading" value={state.sentBytes} max={state.totalBytes} onCancel={cancel} />
    )}
    {state.phase === "too-large" && (
      <Notice kind="warning">
        <strong>This is probably too large</strong>
        <p>{state.reason}</p>
        <div class="form-actions">
          <Button onClick={state.goOn}>Upload it anyway</Button>
          <Button onClick={cancel}>Cancel</Button>
        </div>
      </Notice>
    )}
    {state.phase === "failed" && <ProblemNotice problem={state.problem} onRetry={state.retry} />}
  </>
)
