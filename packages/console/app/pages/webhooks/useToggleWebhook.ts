import { type Reply, request } from "../../api/request.ts"
import type { WebhookJson } from "../../api/types.ts"
import { type Action, useAction } from "../../data/useAction.ts"
import type { QueryState } from "../../data/useQuery.ts"

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
