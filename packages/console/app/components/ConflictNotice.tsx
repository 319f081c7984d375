import { Button } from "./Button.tsx"
import { Notice } from "./Notice.tsx"

export interface ConflictField {
  readonly label: string
  readonly mine: string
  readonly theirs: string
}

export interface ConflictNoticeProps {
  /** The fields that differ. */
  readonly fields: ReadonlyArray<ConflictField>
  readonly onKeepMine: () => void
  readonly onTakeTheirs: () => void
}

/** Shows both versions when another tab or program has changed what is being edited (412). */
export const ConflictNotice = ({ fields, onKeepMine, onTakeTheirs }: ConflictNoticeProps) => (
  <Notice kind="warning">
    <strong>This was changed elsewhere while you edited it</strong>
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Yours</th>
          <th scope="col">Now on the server</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ label, mine, theirs }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{mine}</td>
            <td>{theirs}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <div class="form-actions">
      <Button onClick={onKeepMine}>Save mine over it</Button>
      <Button onClick={onTakeTheirs}>Take the server’s</Button>
    </div>
  </Notice>
)
