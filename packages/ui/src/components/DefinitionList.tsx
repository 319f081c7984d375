import type { ComponentChildren } from "preact"
import { Fragment } from "preact"

/** Names and values, such as the fields of one item. Absent values are left out. */
export const DefinitionList = ({
  items
}: {
  readonly items: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}) => (
  <dl class="definitions">
    {items
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
)
