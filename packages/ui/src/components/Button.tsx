import type { ComponentChildren } from "preact"
import { Icon, type IconName } from "./Icon.tsx"

export interface ButtonProps {
  readonly children: ComponentChildren
  readonly onClick?: (() => void) | undefined
  /** `danger` does what cannot be undone, `destructive` leads to it. */
  readonly kind?: "primary" | "danger" | "destructive" | "plain" | undefined
  readonly type?: "button" | "submit" | undefined
  readonly isBusy?: boolean | undefined
  readonly disabled?: boolean | undefined
  /** For a button whose text does not say what it does to what. */
  readonly label?: string | undefined
  readonly isSmall?: boolean | undefined
  /** Of a destructive button, if it removes nothing. */
  readonly icon?: IconName | undefined
}

export const Button = ({
  children,
  onClick,
  kind = "plain",
  type = "button",
  isBusy = false,
  disabled = false,
  label,
  isSmall,
  icon = "remove"
}: ButtonProps) => (
  <button
    type={type}
    class={`button ${kind}${isSmall ? " small" : ""}`}
    onClick={onClick}
    disabled={disabled}
    aria-busy={isBusy}
    aria-label={label}
  >
    {kind === "destructive" && <Icon name={icon} />}
    {children}
  </button>
)

export const LinkButton = ({
  href,
  children,
  kind = "plain",
  onClick
}: {
  readonly href: string
  readonly children: ComponentChildren
  readonly kind?: "primary" | "plain"
  readonly onClick?: (() => void) | undefined
}) => (
  <a class={`button ${kind}`} href={href} onClick={onClick}>
    {children}
  </a>
)
