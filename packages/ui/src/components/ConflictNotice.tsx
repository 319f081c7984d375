import { Button } from "./Button.tsx"
import { Notice } from "./Notice.tsx"

export interface ConflictField {
  readonly label: string
  readonly mine: string
  readonly theirs: string
}

type LabelledTexts = ReadonlyArray<readonly [label: string, text: string]>

/** Joins the texts of both versions by their labels. */
export const pairTexts = (mine: LabelledTexts, theirs: LabelledTexts): ReadonlyArray<ConflictField> => {
  const others = new Map(theirs)
  return mine.map(([label, text]) => ({ label, mine: text, theirs: others.get(label) ?? "" }))
}

export interface ConflictNoticeProps {
  /** All fields; those that differ are shown. */
  readonly fields: ReadonlyArray<ConflictField>
  readonly onKeepMine: () => void
  readonly onTakeTheirs: () => void
}

const findDifferences = (fields: ReadonlyArray<ConflictField>): ReadonlyArray<ConflictField> =>
  fields.filter(({ mine, theirs }) => mine !== theirs)

/** Shows both versions when another tab or program has changed what is being edited (412). */
export const ConflictNotice = ({ fields, onKeepMine, onTakeTheirs }: ConflictNoticeProps) => {
  const differences = findDifferences(fields)
  return (
    <Notice kind="warning">
      <strong>This was changed elsewhere while you edited it</strong>
      {differences.length === 0 ? (
        <p>What you can edit here is the same on the server.</p>
      ) : (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Yours</th>
              <th scope="col">Now on the server</th>
            </tr>
          </thead>
          <tbody>
            {differences.map(({ label, mine, theirs }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{mine}</td>
                <td>{theirs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div class="form-actions">
        <Button onClick={onKeepMine}>Save mine over it</Button>
        <Button onClick={onTakeTheirs}>Take the server’s</Button>
      </div>
    </Notice>
  )
}
