import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import type { Column } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import type { ApiKeyJson } from "../../../api/types.ts"
import { may } from "../../../session/session.ts"
import { linkToEvents } from "../paths.ts"

/** A key as people recognize it: by its last characters, or by its id if they are not known. */
export const getKeyName = ({ id, key }: ApiKeyJson): string => (key === undefined || key === "****" ? id : key)

interface KeyColumnProps {
  readonly account: string
  readonly onToggle: (key: ApiKeyJson) => void
  readonly onRoll: (key: ApiKeyJson) => void
  readonly onEdit: (key: ApiKeyJson) => void
  readonly onShow: (key: ApiKeyJson) => void
  readonly onRevoke: (key: ApiKeyJson) => void
}

const isExpired = ({ expiresOn }: ApiKeyJson): boolean => expiresOn !== undefined && Date.parse(expiresOn) <= Date.now()

const State = ({ apiKey }: { readonly apiKey: ApiKeyJson }) => {
  if (apiKey.disabled) return <Badge tone="warning">disabled</Badge>
  return isExpired(apiKey) ? <Badge tone="bad">expired</Badge> : <Badge tone="good">active</Badge>
}

export const makeKeyColumns = ({
  account,
  onToggle,
  onRoll,
  onEdit,
  onShow,
  onRevoke
}: KeyColumnProps): ReadonlyArray<Column<ApiKeyJson>> => [
  {
    title: "Key",
    render: ({ id, key }) => (
      <>
        <code>{key ?? "****"}</code>
        <a class="key-id" href={linkToEvents(account, id)} title={`Events of ${id}`}>
          {id}
        </a>
      </>
    )
  },
  { title: "State", render: (key) => <State apiKey={key} /> },
  { title: "Description", render: ({ description }) => <span class="short-text">{description}</span> },
  {
    title: "Scopes",
    render: ({ scopes = [] }) => (
      <span class="badges">
        {scopes.map((scope) => (
          <Badge key={scope}>{scope}</Badge>
        ))}
      </span>
    )
  },
  { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> },
  { title: "Expires", render: ({ expiresOn }) => (expiresOn === undefined ? "never" : <Time value={expiresOn} />) },
  {
    title: "Last used",
    render: ({ lastUsedOn }) => (lastUsedOn === undefined ? "never" : <Time value={lastUsedOn} />)
  },
  ...(["keys:disable", "keys:roll", "keys:reveal", "keys:write"].some(may)
    ? [
        {
          title: "Actions",
          render: (key: ApiKeyJson) => {
            const name = getKeyName(key)
            const verb = key.disabled ? "Enable" : "Disable"
            return (
              <div class="row-actions key-actions">
                {may("keys:disable") && (
                  <Button isSmall label={`${verb} key ${name}`} onClick={() => onToggle(key)}>
                    {verb}
                  </Button>
                )}
                {may("keys:roll") && !key.disabled && !isExpired(key) && (
                  <Button isSmall label={`Roll key ${name}`} onClick={() => onRoll(key)}>
                    Roll
                  </Button>
                )}
                {may("keys:write") && (
                  <Button isSmall label={`Edit key ${name}`} onClick={() => onEdit(key)}>
                    Edit
                  </Button>
                )}
                {may("keys:reveal") && (
                  <Button isSmall label={`Show value of key ${name}`} onClick={() => onShow(key)}>
                    Show
                  </Button>
                )}
                {may("keys:write") && (
                  <Button kind="destructive" isSmall label={`Revoke key ${name}`} onClick={() => onRevoke(key)}>
                    Revoke
                  </Button>
                )}
              </div>
            )
          }
        }
      ]
    : [])
]
