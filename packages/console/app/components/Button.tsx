import type { ComponentChildren } from "preact"

export interface ButtonProps {
  readonly children: ComponentChildren
  readonly onClick?: (() => void) | undefined
  readonly kind?: "primary" | "danger" | "plain" | undefined
  readonly type?: "button" | "submit" | undefined
  readonly isBusy?: boolean | undefined
  readonly disabled?: boolean | undefined
  /** For a button whose text does not say what it does to what. */
  readonly label?: string | undefined
  readonly isSmall?: boolean | undefined
}

export const Button = ({
  children,
  onClick,
  kind = "plain",
  type = "button",
  isBusy = false,
  disabled = false,
  label,
  isSmall
}: ButtonProps) => (
  <button
    type={type}
    class={`button ${kind}${isSmall ? " small" : ""}`}
    onClick={onClick}
    disabled={disabled}
    aria-busy={isBusy}
    aria-label={label}
  >
    {children}
  </button>
)

export const LinkButton = ({
  href,
  children,
  kind = "plain"
}: {
  readonly href: string
  readonly children: ComponentChildren
  readonly kind?: "primary" | "plain"
}) => (
  <a class={`button ${kind}`} href={href}>
    {children}
  </a>
)
