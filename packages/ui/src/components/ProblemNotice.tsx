import type { Problem } from "../api/ApiError.ts"
import { words } from "../words.ts"
import { Button } from "./Button.tsx"
import { Notice } from "./Notice.tsx"

/** What failed and why, with the request id, which is also in the server's log. */
export const ProblemNotice = ({
  problem,
  onRetry
}: {
  readonly problem: Problem
  readonly onRetry?: (() => void) | undefined
}) => (
  <Notice kind="error">
    <strong>{problem.title}</strong>
    <p>{problem.detail}</p>
    {problem.issues.length > 0 && (
      <ul>
        {problem.issues.map(({ pointer, parameter, detail }) => (
          <li key={`${pointer}${parameter}${detail}`}>
            <code>{pointer ?? parameter ?? ""}</code> {detail}
          </li>
        ))}
      </ul>
    )}
    {problem.requestId !== undefined && (
      <p class="hint">
        {words.requestId}: <code>{problem.requestId}</code>
      </p>
    )}
    {onRetry !== undefined && (
      <Button isSmall onClick={onRetry}>
        {words.tryAgain}
      </Button>
    )}
  </Notice>
)
