/**
 * The groups of pages, in the order of the sidebar: the first pages, then one for each folder.
 */
import { type Page, pages } from "./pages.ts"

const folders = {
  Start: "",
  Guides: "guides",
  Recipes: "recipes",
  Operations: "operations",
  Reference: "reference",
  "TypeScript API": "reference/api",
  Design: "design"
}

const getFolder = ({ path }: Page): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

export const groups = Object.entries(folders).map(([title, folder]) => ({
  title,
  pages: pages.filter((page) => getFolder(page) === folder)
}))
