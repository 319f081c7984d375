/**
 * What a host says about its console.
 */
import { Brand, isOwnPath, Options } from "@tollgate/core/module"

/** How the console looks: as a part of your product. */
export interface ConsoleBrand {
  /** Stands where `Tollgate` would be, and in the title of the page. */
  readonly name?: string | undefined
  /** A picture before the name: a path of your server, such as `/logo.svg`, or a `data:` URL of at most 64 KiB. */
  readonly logo?: string | undefined
  /** The colour of buttons and links as `#rrggbb`, dark enough for white text on it and for links on light grey. For dark mode the console makes it lighter. */
  readonly accent?: string | undefined
}

/** The options of `adminConsole`. */
export interface ConsoleOptions {
  readonly brand?: ConsoleBrand | undefined
  /**
   * A path of your server, relative to where the HTTP API is mounted, that fills an account with examples: the console
   * offers it on an overview that is nearly empty, and sends a POST with the token of the session.
   */
  readonly demoPath?: string | undefined
}

const brand = Options.struct<ConsoleBrand>()({
  name: Options.optional(Brand.name),
  logo: Options.optional(Brand.logo),
  accent: Options.optional(Brand.colour)
})

export const consoleOptions = Options.struct<ConsoleOptions>()({
  brand: Options.optional(brand),
  demoPath: Options.optional(
    Options.string(
      "must be a path such as demo, without a leading slash",
      (path) => isOwnPath(path) && !path.startsWith("/")
    )
  )
})
