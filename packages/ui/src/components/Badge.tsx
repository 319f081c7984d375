/** A short state, such as "active". The text says it; the colour only helps. */
export const Badge = ({
  children,
  tone = "neutral"
}: {
  readonly children: string
  readonly tone?: "neutral" | "good" | "warning" | "bad"
}) => <span class={`badge ${tone}`}>{children}</span>
