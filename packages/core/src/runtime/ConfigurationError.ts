import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

/** An option is invalid; the message names it and says what is expected. */
export class ConfigurationError extends defineError<ConfigurationError>()(
  "ConfigurationError",
  {
    code: "configuration",
    status: 500,
    title: "Invalid configuration",
    detail: ({ option, problem }) => `${option}: ${problem}`
  },
  { option: Schema.String, problem: Schema.String }
) {}
