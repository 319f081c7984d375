/** The anchor of a heading, as repositories compute it, so that one link works in both. */
export const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")
