/**
 * Formats a generated page as `npm run format` does, so that both agree.
 */
import { execFileSync } from "node:child_process"

export const formatMarkdown = (text: string): string =>
  execFileSync("node_modules/.bin/biome", ["format", "--stdin-file-path=page.md"], {
    input: `${text}\n`,
    encoding: "utf8"
  })
