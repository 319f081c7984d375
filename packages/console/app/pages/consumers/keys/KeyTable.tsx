import type { ApiKeyJson } from "../../../api/types.ts"
import { Badge } from "../../../components/Badge.tsx"
import { Button } from "../../../components/Button.tsx"
import { type Column, Table } from "../../../components/Table.tsx"
import { Time } from "../../../components/Time.tsx"
import { canWrite } from "../../../session/session.ts"
import { linkToEvents } from "../paths.ts"

/** A key as people recognize it: by its last characters, or by its id if they are not known. */
export const getKeyName = ({ id, key }: ApiKeyJson): string => (key === undefined || key === "****" ? id : key)

export interface KeyTableProps {
  readonly account: string
  readonly keys: ReadonlyArray<ApiKeyJson>
  readonly onToggle: (key: ApiKeyJson) => void
  readonly onEdit: (key: ApiKeyJson) => void
  readonly onShow: (key: ApiKeyJson) => void
  readonly onRevoke: (key: ApiKeyJson) => void
}

const isExpired = ({ expiresOn }: ApiKeyJson): boolean => expiresOn !== undefined && Date.parse(expiresOn) <= Date.now()

const State = ({ apiKey }: { readonly apiKey: ApiKeyJson }) => {
  if (apiKey.disabled) return <Badge tone="warning">disabled</Badge>
  return isExpired(apiKey) ? <Badge tone="bad">expired</Badge> : <Badge tone="good">active</Badge>
}

const makeColumns = ({
  account,
  onToggle,
  onEdit,
  onShow,
  onRevoke
}: KeyTableProps): ReadonlyArray<Column<ApiKeyJson>> => [
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
  { title: "State", render: (key) => <State apiKey={key} /> },
  ...(canWrite.value
    ? [
        {
          title: "Actions",
          render: (key: ApiKeyJson) => {
            const name = getKeyName(key)
            const verb = key.disabled ? "Enable" : "Disable"
            return (
              <div class="row-actions key-actions">
                <Button isSmall label={`${verb} key ${name}`} onClick={() => onToggle(key)}>
                  {verb}
                </Button>
                <Button isSmall label={`Edit key ${name}`} onClick={() => onEdit(key)}>
                  Edit
                </Button>
                <Button isSmall label={`Show value of key ${name}`} onClick={() => onShow(key)}>
                  Show
                </Button>
                <Button isSmall label={`Revoke key ${name}`} onClick={() => onRevoke(key)}>
                  Revoke
                </Button>
              </div>
            )
          }
        }
      ]
    : [])
]

export const KeyTable = (props: KeyTableProps) => (
  <Table caption="Keys of this consumer" rows={props.keys} getKey={({ id }) => id} columns={makeColumns(props)} />
)
