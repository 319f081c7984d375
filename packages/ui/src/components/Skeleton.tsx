import { words } from "../words.ts"

/** Stands where something is that loads. */
export const Skeleton = () => (
  <div class="skeleton" role="status">
    <span class="visually-hidden">{words.loading}</span>
    <span />
    <span />
    <span />
  </div>
)
