/**
 * The groups of pages, in the order of the sidebar: the sections of docs/README.md, and the TypeScript API.
 */
import { index, type Page, pages } from "./pages.ts"

const toGroup = ({ path }: Page): string => {
  if (path.startsWith("reference/api/")) return "TypeScript API"
  const section = index.split(/^## /m).find((text) => text.includes(`](${path})`)) ?? ""
  return section.split("\n")[0] || "Other"
}

export const groups = [...Map.groupBy(pages, toGroup)].map(([title, pages]) => ({ title, pages }))
