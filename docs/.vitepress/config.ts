/**
 * The documentation as a static site with search: `npm run docs` builds it into docs/.vitepress/dist.
 */
import { relative } from "node:path"
import { defineConfig } from "vitepress"
import { renderCodeBlocks } from "./codeBlocks.ts"
import { copyRepositoryFiles, linkRepositoryFiles } from "./repositoryFiles.ts"
import { searchOptions } from "./search.ts"
import { sidebar } from "./sidebar.ts"
import { toAnchor } from "./toAnchor.ts"

export default defineConfig({
  title: "Tollgate",
  description:
    "API keys, rate limits, plans with quotas, subscriptions and deployments for the customers of your Node server",
  lang: "en",
  // Without an icon, browsers request one that does not exist.
  head: [["link", { rel: "icon", href: "data:," }]],
  // Repositories show README.md as the page of its folder.
  rewrites: { "README.md": "index.md", "reference/api/README.md": "reference/api/index.md" },
  markdown: {
    anchor: { slugify: toAnchor },
    config: (md) => {
      linkRepositoryFiles(md)
      renderCodeBlocks(md)
    }
  },
  themeConfig: {
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
    sidebar,
    outline: [2, 3],
    docFooter: { prev: false, next: false }
  },
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  buildEnd: ({ outDir }) => {
    copyRepositoryFiles(outDir)
    console.log(`\nThe site is in ${relative(process.cwd(), outDir)}. Look at it with: npx vitepress preview docs`)
  }
})
