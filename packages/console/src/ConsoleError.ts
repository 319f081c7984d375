import { defineError } from "@tollgate/core/module"

/** The code of a link to the console is wrong, expired or used. The error does not say which. */
export class ConsoleCodeInvalid extends defineError<ConsoleCodeInvalid>()("ConsoleCodeInvalid", {
  code: "console-code-invalid",
  status: 401,
  title: "Console link not valid",
  meaning: "The code of a link to the console is wrong, has expired or was used.",
  remedy:
    "Sign in with a management token, or ask the operator for a new link: `gate.createConsoleLink()` creates one, and " +
    "`npm start` prints one at each start.",
  detail: () =>
    "A link to the console works once, within 5 minutes. To get a new one, ask the operator, or sign in with a " +
    "management token."
}) {}
