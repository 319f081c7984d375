/**
 * Builds elements. Text is only ever set as text, so that nothing in the description or in a response is read as HTML.
 */
export type Child = Node | string

export const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[Name] => {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...children)
  return made
}

/** Finds an element of the page's own markup. */
export const find = <Element extends HTMLElement>(id: string, kind: new () => Element): Element => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`The page has no #${id}`)
  return found
}
