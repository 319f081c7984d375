import { Schema } from "effect"
import { problem } from "../errors/problem.ts"

/** An option is invalid; the message names it and says what is expected. */
export class ConfigurationError extends problem<ConfigurationError>()(
  "ConfigurationError",
  {
    code: "configuration",
    status: 500,
    title: "Invalid configuration",
    detail: ({ option, problem }) => `${option}: ${problem}`
  },
  { option: Schema.String, problem: Schema.String }
) {}
