import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { formatQuantity } from "@tollgate/ui/format/numbers.ts"
import type { ConsumerJson } from "../../api/types.ts"
import { formatMetadata } from "../../format/metadata.ts"
import type { BucketParams } from "./paths.ts"
import { TagList } from "./TagList.tsx"

/** How many lines of metadata are shown without a click. */
const maxLines = 12

const MetadataText = ({ text }: { readonly text: string }) => {
  const lineCount = text.split("\n").length
  if (lineCount <= maxLines) return <pre>{text}</pre>
  return (
    <details>
      <summary>{formatQuantity(lineCount, "line")}</summary>
      <pre>{text}</pre>
    </details>
  )
}

/** The fields of a consumer, with its managers: users, and those of whom only the e-mail address is known. */
export const ConsumerDetails = ({
  params,
  consumer
}: {
  readonly params: BucketParams
  readonly consumer: ConsumerJson
}) => {
  const {
    id,
    name,
    customerKey = name,
    description,
    tags = {},
    metadata,
    managers = [],
    managerInvites = [],
    createdOn,
    updatedOn
  } = consumer
  const metadataText = formatMetadata(metadata)
  return (
    <DefinitionList
      items={[
        ["Id", <code key="id">{id}</code>],
        ["Description", description && <span class="description">{description}</span>],
        ["Customer", <code key="customer">{customerKey}</code>],
        ["Tags", Object.keys(tags).length === 0 ? undefined : <TagList params={params} tags={tags} />],
        ["Metadata", metadataText === "" ? undefined : <MetadataText key="metadata" text={metadataText} />],
        [
          "Managers",
          managers.length === 0 ? undefined : (
            <ul class="plain-list">
              {managers.map(({ id, sub, email }) => (
                <li key={id}>
                  <code>{sub}</code> {email}
                </li>
              ))}
            </ul>
          )
        ],
        [
          "Manager (e-mail)",
          managerInvites.length === 0 ? undefined : (
            <ul class="plain-list">
              {managerInvites.map(({ id, email, createdOn }) => (
                <li key={id}>
                  {email}, added <Time value={createdOn} />
                </li>
              ))}
            </ul>
          )
        ],
        ["Created", <Time key="created" value={createdOn} />],
        ["Updated", <Time key="updated" value={updatedOn} />]
      ]}
    />
  )
}
