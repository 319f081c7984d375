/**
 * The logger of the host: pino, winston, the console, or any object with these methods.
 */
import { Cause, Logger, type LogLevel, References } from "effect"
import * as Options from "./Options.ts"

// biome-ignore lint/suspicious/noExplicitAny: loggers declare their parameters in many ways
type Log = (...values: ReadonlyArray<any>) => unknown

/** `debug`, `info`, `warn` and `error` are called with a message and an object of fields; for pino, the fields come first. */
export interface HostLogger {
  readonly debug: Log
  readonly info: Log
  readonly warn: Log
  readonly error: Log
}

export const hostLogger = Options.value(
  (value): value is HostLogger => Options.hasMethods(value, "debug", "info", "warn", "error"),
  "must have the methods debug, info, warn and error, as console, pino and winston have"
)

type Fields = Readonly<Record<string, unknown>>

const maxErrorLength = 8_192

const toLevel = (level: LogLevel.LogLevel): keyof HostLogger => {
  switch (level) {
    case "Fatal":
    case "Error":
      return "error"
    case "Warn":
      return "warn"
    case "Info":
      return "info"
    default:
      return "debug"
  }
}

/** A log entry has a message, and may have details such as the stack of an error. */
const toMessageAndFields = ({ message, cause, fiber }: Logger.Options<unknown>) => {
  const [first, ...details] = [message].flat().map(String)
  const error = [...details, ...(cause.reasons.length === 0 ? [] : [Cause.pretty(cause)])]
    .filter((text) => text !== "")
    .join("\n")
    .slice(0, maxErrorLength)
  const { span } = fiber.cache
  const fields: Fields = {
    ...fiber.getRef(References.CurrentLogAnnotations),
    ...(span === undefined ? {} : { traceId: span.traceId, spanId: span.spanId }),
    ...(error === "" ? {} : { error })
  }
  return { message: first ?? "", fields }
}

/** Pino and bunyan take the fields first, and drop fields that follow the message. */
const takesFieldsFirst = (logger: HostLogger): boolean =>
  Options.hasMethods(logger, "child") && (Options.hasMethods(logger, "bindings") || "fields" in logger)

/** Calls the method with the message and, unless there are none, the fields. */
const callLogger = (
  logger: HostLogger,
  level: keyof HostLogger,
  isFieldsFirst: boolean,
  message: string,
  fields: Fields
) => {
  if (Object.keys(fields).length === 0) return logger[level](message)
  return isFieldsFirst ? logger[level](fields, message) : logger[level](message, fields)
}

const makeHostLogger = (logger: HostLogger): Logger.Logger<unknown, void> => {
  const isFieldsFirst = takesFieldsFirst(logger)
  return Logger.make((entry) => {
    const { message, fields } = toMessageAndFields(entry)
    try {
      const result = callLogger(logger, toLevel(entry.logLevel), isFieldsFirst, message, fields)
      // A rejection that nothing handles would end the process.
      if (result instanceof Promise) result.catch(() => undefined)
    } catch {
      // A logger that fails must not fail the request.
    }
  })
}

/** Writes each entry to the standard error as a line of JSON with the time. */
export const jsonLogger: Logger.Logger<unknown, void> = Logger.make((entry) => {
  const { message, fields } = toMessageAndFields(entry)
  console.error(JSON.stringify({ time: entry.date.toISOString(), level: toLevel(entry.logLevel), message, ...fields }))
})

export const resolveLogger = (logger: HostLogger | undefined): Logger.Logger<unknown, void> =>
  logger === undefined ? jsonLogger : makeHostLogger(logger)
