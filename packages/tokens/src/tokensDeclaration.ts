import type { AccountName, ClientModule, EventCatalog, HandleTools } from "@tollgate/core/module"
import { Token } from "./Token.ts"
import { AllSessionsApi, SessionsApi, type SessionsMethods, TokensApi, type TokensMethods } from "./TokensApi.ts"

declare module "@tollgate/core/module" {
  interface EventTypes {
    "token.created": true
    "token.updated": true
    "token.deleted": true
  }
}

/** What tokens add to the handle of an account. */
export interface TokensOfAccount {
  /** Management tokens that are created while the server runs. */
  readonly tokens: TokensMethods
  /** Sessions of people in the console. */
  readonly sessions: SessionsMethods
}

const tokenEvents = {
  "token.created": { description: "A management token was created.", data: Token },
  "token.updated": { description: "A management token was changed.", data: Token },
  "token.deleted": { description: "A management token was deleted.", data: Token }
} satisfies EventCatalog

/** What tokens declare, for a Tollgate in process and for a client. */
export const tokensClient = {
  name: "tokens",
  groups: () => [TokensApi, SessionsApi, AllSessionsApi],
  events: tokenEvents,
  account: {
    tokens: ({ methods }: HandleTools, accountName: AccountName) => methods<TokensMethods>("tokens", { accountName }),
    sessions: ({ methods }: HandleTools, accountName: AccountName) =>
      methods<SessionsMethods>("sessions", { accountName })
  }
} satisfies ClientModule as ClientModule<TokensOfAccount>
