import { Schema } from "effect"

/** The settings are wrong; the message says what to set. */
export class ConfigurationError extends Schema.TaggedError<ConfigurationError>()("ConfigurationError", {
  option: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.option}: ${this.problem}`
  }
}
