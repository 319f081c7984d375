import { groups } from "./groups.ts"

export const sidebar = groups.map(({ title, pages }) => ({
  text: title,
  collapsed: title === "TypeScript API",
  items: pages.map(({ path, title }) => ({ text: title, link: `/${path.replace(/(?:README)?\.md$/, "")}` }))
}))
