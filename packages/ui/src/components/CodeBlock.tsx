/** A log or JSON. What is longer than the block is scrolled, also with the arrow keys. */
export const CodeBlock = ({ label, text }: { readonly label: string; readonly text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
  <section class="code-block" aria-label={label} tabIndex={0}>
    <pre>{text}</pre>
  </section>
)
