import { defineError } from "../errors/defineError.ts"

/** The code of a link to the console is wrong, expired or used. The error does not say which. */
export class ConsoleCodeInvalid extends defineError<ConsoleCodeInvalid>()("ConsoleCodeInvalid", {
  code: "console-code-invalid",
  status: 401,
  title: "Console link not valid",
  detail: () =>
    "A link to the console works once, within 5 minutes. To get a new one, restart the server, or sign in with a " +
    "management token."
}) {}
