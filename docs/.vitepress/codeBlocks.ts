/**
 * What the site makes of code blocks. Repositories show them as they are, one after the other.
 */
import type { MarkdownRenderer } from "vitepress"

type Tokens = ReturnType<MarkdownRenderer["parse"]>

/** Turns blocks that follow each other and have a label, as in "ts [Koa]", into tabs. */
const groupTabs = (md: MarkdownRenderer): void => {
  md.core.ruler.after("block", "tabs", (state) => {
    const hasLabel = (token: Tokens[number] | undefined) => token?.type === "fence" && /\[.+\]/.test(token.info)
    state.tokens = state.tokens.flatMap((token, index, tokens) => {
      if (!hasLabel(token)) return [token]
      const [isAfter, isBefore] = [hasLabel(tokens[index - 1]), hasLabel(tokens[index + 1])]
      const open = new state.Token("container_code-group_open", "div", 1)
      const close = new state.Token("container_code-group_close", "div", -1)
      return [...(isBefore && !isAfter ? [open] : []), token, ...(isAfter && !isBefore ? [close] : [])]
    })
  })
}

/** Imports, and a gate in memory: what so many examples begin with. */
const setUp =
  /^(?:import .*\n)+\n(?:.*\n)*?const gate = await createTollgate\(\{ store: MemoryStore\.open\(\), secret: process\.env\.TOLLGATE_SECRET \}\)\n/

/** Folds what examples have in common, except in the first of a page. */
const foldSetUp = (md: MarkdownRenderer): void => {
  const { fence } = md.renderer.rules
  if (fence === undefined) throw new Error("VitePress renders no code blocks")
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    const [common = ""] = token?.info === "ts" ? (setUp.exec(token.content) ?? []) : []
    const isFirst = !tokens.slice(0, index).some(({ type }) => type === "fence")
    if (token === undefined || common === "" || isFirst) return fence(tokens, index, options, env, self)
    const render = (content: string) => fence([Object.assign(Object.create(token), { content })], 0, options, env, self)
    return `<details class="details custom-block"><summary>Set-up</summary>${render(common)}</details>\n${render(token.content.slice(common.length))}`
  }
}

export const renderCodeBlocks = (md: MarkdownRenderer): void => {
  groupTabs(md)
  foldSetUp(md)
}
