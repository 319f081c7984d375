import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { productName } from "../session/settings.ts"

export interface PageHeaderProps {
  readonly title: string
  /** The pages above this one. */
  readonly parents?: ReadonlyArray<{ readonly label: string; readonly link: string }> | undefined
  /** Buttons. */
  readonly children?: ComponentChildren
}

/** The heading of a page. It gets the focus when the page opens, so that screen readers read it and Tab starts there. */
export const PageHeader = ({ title, parents = [], children }: PageHeaderProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${productName} console`
    if (
      document.activeElement === null ||
      document.activeElement === document.body ||
      document.activeElement.matches("nav a")
    )
      heading.current?.focus()
  }, [title])
  return (
    <header class="page-header">
      {parents.length > 0 && (
        <nav aria-label="Pages above">
          {parents.map(({ label, link }) => (
            <a key={link} href={link}>
              {label}
            </a>
          ))}
        </nav>
      )}
      <div class="page-title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="page-actions">{children}</div>
      </div>
    </header>
  )
}
