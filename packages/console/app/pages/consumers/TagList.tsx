import { linkTo } from "../../routing/router.ts"
import type { BucketParams } from "./paths.ts"
import { type Tags, toPairs } from "./tags.ts"

/** The tags of a consumer; each links to the consumers that have it. */
export const TagList = ({ params, tags = {} }: { readonly params: BucketParams; readonly tags?: Tags | undefined }) => (
  <span class="badges">
    {toPairs(tags).map(([name, value]) => (
      <a
        key={name}
        class="badge neutral"
        href={linkTo(["accounts", params.account, "consumers", params.bucket], { [`tag.${name}`]: value })}
      >
        {name}={value}
      </a>
    ))}
  </span>
)
