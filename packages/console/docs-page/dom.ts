/**
 * DOM helpers. Content is always set as text, never as HTML, so that a description or a response cannot inject markup.
 */
type Child = Node | string

export const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[Name] => {
  const node = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value)
  node.append(...children)
  return node
}

/** A text whose parts between backticks are code. */
export const renderText = (text: string): ReadonlyArray<Child> =>
  text.split("`").map((part, index) => (index % 2 === 1 ? element("code", {}, part) : part))

/** Gets an element of the static markup in page.html. */
export const getElement = <Element extends HTMLElement>(id: string, kind: new () => Element): Element => {
  const node = document.getElementById(id)
  if (!(node instanceof kind)) throw new Error(`The page has no #${id}`)
  return node
}
