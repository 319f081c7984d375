/**
 * The sidebar: the first pages, then a group for each folder.
 */
import { pages } from "./pages.ts"

const groups = [
  { text: "Start", matches: (path: string) => !path.includes("/") },
  { text: "Guides", matches: (path: string) => path.startsWith("guides/") },
  { text: "Recipes", matches: (path: string) => path.startsWith("recipes/") },
  { text: "Operations", matches: (path: string) => path.startsWith("operations/") },
  { text: "Reference", matches: (path: string) => path.startsWith("reference/") && !path.startsWith("reference/api/") },
  { text: "TypeScript API", matches: (path: string) => path.startsWith("reference/api/") },
  { text: "Design", matches: (path: string) => path.startsWith("design/") }
]

export const sidebar = groups.map(({ text, matches }) => ({
  text,
  collapsed: text === "TypeScript API",
  items: pages
    .filter(({ path }) => matches(path))
    .map(({ path, title }) => ({ text: title, link: `/${path.replace(/README\.md$/, "").replace(/\.md$/, "")}` }))
}))
