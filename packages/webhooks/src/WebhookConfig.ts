import { Options } from "@tollgate/core/module"
import { Context } from "effect"

/** The options of the module. */
export interface WebhookOptions {
  /**
   * Whether webhooks may be sent to private networks, and over plain http. Off by default: a tenant could otherwise reach
   * servers that only your server can reach. For development, or if all tenants are trusted.
   */
  readonly allowPrivateNetworks?: boolean | undefined
}

export const webhookOptions = Options.struct<WebhookOptions>()({
  allowPrivateNetworks: Options.optional(Options.literals([true, false]))
})

const defaults = { allowPrivateNetworks: false }

/** Whether webhooks may be sent to private networks. The default is no. */
export const WebhookConfig = Context.Reference("@tollgate/webhooks/WebhookConfig", {
  defaultValue: () => defaults
})

export const resolveWebhookOptions = (options: WebhookOptions = {}) => Options.withDefaults(defaults, options)
