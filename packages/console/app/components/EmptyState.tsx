import type { ComponentChildren } from "preact"

/** Stands where a list would be: says what the list is for and what to do. */
export const EmptyState = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty-state">
    <h2>{title}</h2>
    {children}
  </div>
)
