import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

/** An option is invalid; the message names it and says what is expected. */
export class ConfigurationError extends defineError<ConfigurationError>()(
  "ConfigurationError",
  {
    code: "configuration",
    status: 500,
    title: "Invalid configuration",
    meaning: "An option is invalid, a required one is missing, or Node is too old.",
    remedy: "Correct the option that `option` names. `problem` says what is expected.",
    isSentOverHttp: false,
    detail: ({ option, problem }) => `${option}: ${problem}`
  },
  {
    option: Schema.String.annotate({ description: "The path of the option." }),
    problem: Schema.String.annotate({ description: "What is wrong, or what is expected." })
  }
) {}
