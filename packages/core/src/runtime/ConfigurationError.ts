import { Schema } from "effect"

/** An option is invalid; the message names it and says what is expected. */
export class ConfigurationError extends Schema.TaggedError<ConfigurationError>()("ConfigurationError", {
  option: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.option}: ${this.problem}`
  }
}
