import type { ComponentChildren } from "preact"
import { Icon } from "./Icon.tsx"

/** Stands where a list would be: says what the list is for and what to do. */
export const EmptyState = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty-state">
    <Icon name="empty" />
    <h2>{title}</h2>
    {children}
  </div>
)
