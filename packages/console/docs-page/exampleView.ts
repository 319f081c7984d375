/**
 * Renders examples of bodies. They are closed at first, because the fields are listed beside them.
 */
import type { MediaType } from "./description.ts"
import { element } from "./dom.ts"

/** JSON is indented; CSV is a text. */
const format = (example: unknown): string => (typeof example === "string" ? example : JSON.stringify(example, null, 2))

export const renderExample = (title: string, { example }: MediaType): ReadonlyArray<Node> =>
  example === undefined
    ? []
    : [element("details", {}, element("summary", {}, title), element("pre", { tabindex: "0" }, format(example)))]
