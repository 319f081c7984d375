import { defineError } from "../errors/defineError.ts"

/** The code of a link to the console is wrong, expired or used. The error does not say which. */
export class ConsoleCodeInvalid extends defineError<ConsoleCodeInvalid>()("ConsoleCodeInvalid", {
  code: "console-code-invalid",
  status: 401,
  title: "Console link not valid",
  meaning: "The code of a link to the console is wrong, has expired or was used.",
  remedy: "Create a new link, restart the server to get one, or sign in with a management token.",
  detail: () =>
    "A link to the console works once, within 5 minutes. To get a new one, restart the server, or sign in with a " +
    "management token."
}) {}
