/** The pictures of the sprite in `index.html`. */
export type IconName =
  | "overview"
  | "consumers"
  | "metering"
  | "deployments"
  | "events"
  | "webhooks"
  | "people"
  | "search"
  | "help"
  | "remove"
  | "stop"
  | "menu"
  | "empty"

/** A picture beside a text that says the same. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`#icon-${name}`} />
  </svg>
)
