/** Links to the parts of a page, which have addresses of their own. */
export const Tabs = ({
  label,
  tabs
}: {
  readonly label: string
  readonly tabs: ReadonlyArray<{ readonly label: string; readonly link: string; readonly isCurrent: boolean }>
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ label, link, isCurrent }) => (
      <a key={link} href={link} aria-current={isCurrent ? "page" : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
