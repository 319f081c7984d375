import type { Tollgate } from "tollgate"
import type { ConsoleModule } from "tollgate/console"
import type { DecisionsModule } from "tollgate/decisions"
import type { WebhooksModule } from "tollgate/webhooks"

/** What a gate must have to be filled. */
export type Gate = Tollgate<ConsoleModule | DecisionsModule | WebhooksModule>
