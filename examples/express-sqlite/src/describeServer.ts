/**
 * What the server prints when it is ready. Secrets that it has just created are in it, others are not.
 */
import { makeCommands, makeKeyCommand } from "./commands.ts"
import { account, consumer } from "./demo.ts"
import type { RunningServer } from "./server.ts"
import type { Settings } from "./settings.ts"

type Started = Omit<RunningServer, "stop">

const describeToken = ({ newToken }: Started, tokenFile: string): ReadonlyArray<string> =>
  newToken === undefined
    ? [`The management token is in ${tokenFile}`]
    : ["", `Your management token, printed only once and saved in ${tokenFile}:`, `  ${newToken}`]

/** Explains the variables in the commands below, and how to set them. */
const describeVariables = ({ url, newToken, demoKey }: Started, tokenFile: string | undefined) => {
  const lines: Array<string> = []
  if (newToken === undefined && tokenFile !== undefined) {
    lines.push("$TOKEN is the management token:", `  TOKEN=$(cat '${tokenFile}')`)
  } else if (newToken === undefined) {
    lines.push(`$TOKEN is one of the tokens in TOLLGATE_TOKENS, for the account "${account}" or for all ("*").`)
  }
  if (demoKey === undefined) {
    lines.push(
      `$KEY is an API key of the consumer "${consumer}". Her first key was printed once, at the first start.`,
      "Create another one:",
      `  ${makeKeyCommand(url, newToken)}`
    )
  }
  return lines.length === 0 ? [] : ["", ...lines]
}

export const describeServer = (started: Started, settings: Settings): string => {
  const { url, consoleUrl, newToken, demoKey } = started
  const tokenFile = settings.tokens === undefined ? `${settings.dataFolder}/management-token` : undefined
  return [
    `Tollgate is listening at ${url}`,
    `API reference: ${url}/v1/docs`,
    `Console: ${consoleUrl} (works once, within 5 minutes)`,
    ...(tokenFile === undefined ? [] : describeToken(started, tokenFile)),
    ...describeVariables(started, tokenFile),
    "",
    "Try it:",
    ...makeCommands(url, newToken, demoKey).map((command) => `  ${command}`)
  ].join("\n")
}
