import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

/** A titled part of a page, with its buttons. */
export const Section = ({
  title,
  actions,
  children
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const id = useId()
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-header">
        <h2 id={id}>{title}</h2>
        <div class="row-actions">{actions}</div>
      </div>
      {children}
    </section>
  )
}
