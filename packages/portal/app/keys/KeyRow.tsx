import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { formatDate, formatRelativeTime, formatTime } from "@tollgate/ui/format/time.ts"
import { fill } from "@tollgate/ui/words.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { getKeyName, hasExpired } from "./keyStates.ts"

const KeyState = ({ apiKey }: { readonly apiKey: PortalKeyJson }) => {
  if (apiKey.disabled === true) return <Badge>{texts.keyDisabled}</Badge>
  if (hasExpired(apiKey)) return <Badge>{texts.keyExpired}</Badge>
  return apiKey.expiresOn === undefined ? null : (
    <Badge tone="warning">{fill(texts.keyExpires, { time: formatRelativeTime(apiKey.expiresOn) })}</Badge>
  )
}

export interface KeyRowProps {
  readonly apiKey: PortalKeyJson
  readonly canWrite: boolean
  readonly onOpen: (dialog: "rename" | "roll" | "revoke") => void
}

/** A key with its state and what can be done with it. */
export const KeyRow = ({ apiKey, canWrite, onOpen }: KeyRowProps) => {
  const name = getKeyName(apiKey)
  const used =
    apiKey.lastUsedOn === undefined
      ? texts.keyNeverUsed
      : fill(texts.keyUsed, { time: formatRelativeTime(apiKey.lastUsedOn) })
  return (
    <li>
      <div class="row-text">
        <p class="row-title">
          <strong>{name}</strong> <KeyState apiKey={apiKey} />
        </p>
        <p class="hint">
          <code>{apiKey.key}</code> ·{" "}
          <time dateTime={apiKey.createdOn} title={formatTime(apiKey.createdOn)}>
            {fill(texts.keyCreated, { date: formatDate(apiKey.createdOn) })}
          </time>
          {" · "}
          {used}
        </p>
      </div>
      {canWrite && (
        <div class="row-actions">
          <Button isSmall label={fill(texts.renameWhat, { name })} onClick={() => onOpen("rename")}>
            {texts.rename}
          </Button>
          {apiKey.disabled !== true && !hasExpired(apiKey) && (
            <Button isSmall label={fill(texts.rollWhat, { name })} onClick={() => onOpen("roll")}>
              {texts.roll}
            </Button>
          )}
          <Button isSmall kind="destructive" label={fill(texts.revokeWhat, { name })} onClick={() => onOpen("revoke")}>
            {texts.revoke}
          </Button>
        </div>
      )}
    </li>
  )
}
