import { Checkbox } from "@tollgate/ui/components/fields.tsx"
import { eventGroups } from "../events/eventTypes.ts"

const allEvents = "*"

export interface EventPatternsFieldProps {
  readonly value: ReadonlyArray<string>
  readonly onChange: (patterns: ReadonlyArray<string>) => void
  readonly error?: string | undefined
}

/** Chooses the events that are sent: all, the groups such as `consumer.*`, or single types. */
export const EventPatternsField = ({ value, onChange, error }: EventPatternsFieldProps) => {
  const toggle = (pattern: string, isChosen: boolean): void =>
    onChange(isChosen ? [...value, pattern] : value.filter((other) => other !== pattern))
  const isAll = value.includes(allEvents)
  return (
    <fieldset class="field event-choices">
      <legend>Events to send</legend>
      <Checkbox
        label="All events, also types that are added later"
        checked={isAll}
        onChange={(isChosen) => onChange(isChosen ? [allEvents] : [])}
      />
      {!isAll &&
        Object.entries(eventGroups).map(([group, names]) => {
          const isGroup = value.includes(`${group}.*`)
          return (
            <div key={group} class="event-group">
              <Checkbox
                label={`${group}.*`}
                checked={isGroup}
                onChange={(isChosen) =>
                  onChange([
                    ...value.filter((pattern) => !pattern.startsWith(`${group}.`)),
                    ...(isChosen ? [`${group}.*`] : [])
                  ])
                }
              />
              {!isGroup &&
                names.map((name) => (
                  <Checkbox
                    key={name}
                    label={`${group}.${name}`}
                    checked={value.includes(`${group}.${name}`)}
                    onChange={(isChosen) => toggle(`${group}.${name}`, isChosen)}
                  />
                ))}
            </div>
          )
        })}
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}
