import type { ComponentChildren } from "preact"

/** A message on the page. Warnings and errors are announced to screen readers. */
export const Notice = ({
  kind = "info",
  children
}: {
  readonly kind?: "info" | "warning" | "error" | "success"
  readonly children: ComponentChildren
}) => (
  <div class={`notice ${kind}`} role={kind === "error" || kind === "warning" ? "alert" : "status"}>
    {children}
  </div>
)
