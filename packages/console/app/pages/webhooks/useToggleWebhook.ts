import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { type Action, useAction } from "@tollgate/ui/data/useAction.ts"
import type { QueryState } from "@tollgate/ui/data/useQuery.ts"
import type { WebhookJson } from "../../api/types.ts"

/** Enables or disables a webhook. The page shows it at once, and takes it back if the server refuses. */
export const useToggleWebhook = (path: string, webhook: QueryState<Reply<WebhookJson>>): Action<[]> =>
  useAction(async () => {
    const before = webhook.data
    if (before === undefined) return
    const state = before.value.state === "enabled" ? "disabled" : "enabled"
    const { disabledReason: _, ...value } = before.value
    webhook.setData((reply) => ({ ...reply, value: { ...value, state } }))
    try {
      const after = await request<WebhookJson>("PATCH", path, { body: { state } })
      webhook.setData(() => after)
    } catch (error) {
      webhook.setData(() => before)
      throw error
    }
  })
