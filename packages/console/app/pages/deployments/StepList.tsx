import { Badge } from "@tollgate/ui/components/Badge.tsx"
import type { DeploymentStatusJson } from "../../api/types.ts"

type Steps = DeploymentStatusJson["steps"]
type Step = Steps[keyof Steps]

const names: ReadonlyArray<keyof Steps> = ["upload", "unpack", "build", "check", "publish"]

const tones = { waiting: "neutral", running: "warning", done: "good", failed: "bad", skipped: "neutral" } as const

const getDuration = ({ startedOn, finishedOn }: Step): string | undefined =>
  startedOn === undefined || finishedOn === undefined
    ? undefined
    : `${((Date.parse(finishedOn) - Date.parse(startedOn)) / 1000).toFixed(1)} s`

export const StepList = ({ steps }: { readonly steps: Steps }) => (
  <ol class="steps" aria-label="Steps">
    {names.map((name) => {
      const step = steps[name]
      return (
        <li key={name}>
          <span class="step-name">{name}</span>
          <Badge tone={tones[step.status]}>{step.status}</Badge>
          <span class="hint">{getDuration(step)}</span>
          {step.message !== undefined && <span class={`step-message ${step.status}`}>{step.message}</span>}
        </li>
      )
    })}
  </ol>
)
